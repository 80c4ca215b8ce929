//! Asks the model for the next plan. (`spec/mcp-and-semantic.md` 2.4)

use serde_json::{Value, json};

use super::observe::{self, Observation, Shown};
use super::plan::Plan;
use crate::audit::Stage;
use crate::config::{Planner, Tool};
use crate::json::members;
use crate::llm;
use crate::text::date::Date;
use crate::turn::{EffectError, LlmMode, Map};
use crate::turning::Turning;
use crate::verbose::{Progress, publish, tell};

/// The name in progress messages.
const NAME: &str = "McpPlanner";

/// Characters of a bad reply that the model is shown again.
const REPEATED: usize = 1000;

/// The next plan; a reply that is none is sent back once with what is wrong with it.
///
/// # Errors
/// The model does not answer.
pub(super) async fn plan(t: &mut Turning<'_>, tools: &[&Tool], seen: &[Observation]) -> Result<Plan, EffectError> {
    let config = t.config;
    let planner = config.planners.select(&t.session.intent, &t.session.state);
    let reply = ask(t, planner, tools, seen, None).await?;
    let unusable = match Plan::parse(&reply) {
        Ok(plan) => return Ok(plan),
        Err(unusable) => unusable,
    };
    let hint = format!(
        "Your last reply cannot be used: {}. It began:\n{}\nReply again, with one JSON object that has exactly the members asked for.",
        unusable.reason,
        reply.chars().take(REPEATED).collect::<String>()
    );
    let reply = ask(t, planner, tools, seen, Some(hint)).await?;
    Ok(Plan::parse(&reply).unwrap_or_else(|it| Plan::answer(it.answer)))
}

async fn ask(
    t: &mut Turning<'_>,
    planner: &Planner,
    tools: &[&Tool],
    seen: &[Observation],
    hint: Option<String>,
) -> Result<String, EffectError> {
    let tools = listed(planner, tools);
    let schema = schema(&tools);
    let shown = observe::show(seen, &t.config.settings.tools);
    let variables = variables(t, &schema, &tools, &shown);
    let mut prompts = llm::prompts(t, &planner.prompts.system, &planner.prompts.user, &variables);
    let mut input = json!({
        "templateFromCeConfig (McpPlanner)": planner.source,
        "system_prompt": prompts.system,
        "user_prompt": prompts.user,
        "schema": schema,
        "mcp_observations_compacted": shown.cut,
        "mcp_observations_raw_chars": shown.raw_chars,
        "mcp_observations_final_chars": shown.chars,
    });
    if let (Some(input), Some(hint)) = (input.as_object_mut(), &hint) {
        input.insert("derivation_hint".to_owned(), json!(hint));
    }
    prompts.hint = hint;
    tell(t, Stage::McpPlanLlmInput, Progress::new(NAME, "MCP_PLAN_LLM_INPUT"), input);
    match llm::ask(t, "mcp_plan", LlmMode::Json, prompts, Some(schema)).await {
        Ok(reply) => {
            tell(t, Stage::McpPlanLlmOutput, Progress::new(NAME, "MCP_PLAN_LLM_OUTPUT"), json!({"json": reply.text}));
            Ok(reply.text)
        }
        Err(error) => {
            publish(t, Progress::error(NAME, "MCP_PLAN_LLM_ERROR"), || members(json!({"error": error.message})));
            t.audit(Stage::McpPlanLlmError, |_| json!({"error": error.message}));
            Err(error)
        }
    }
}

/// The tools that the prompts name; all, when they name none of them.
fn listed<'c>(planner: &Planner, tools: &[&'c Tool]) -> Vec<&'c Tool> {
    let named: Vec<&Tool> = tools.iter().filter(|it| planner.named.contains(&it.code.to_lowercase())).copied().collect();
    if named.is_empty() { tools.to_vec() } else { named }
}

fn schema(tools: &[&Tool]) -> Value {
    let codes: Vec<Value> = tools.iter().map(|it| json!(it.code)).chain([Value::Null]).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["action", "tool_code", "args", "answer", "operation_tag"],
        "properties": {
            "action": {"type": "string", "enum": ["CALL_TOOL", "ANSWER"]},
            "tool_code": {"type": ["string", "null"], "enum": codes},
            "args": {"type": "object"},
            "answer": {"type": ["string", "null"]},
            "operation_tag": {"type": ["string", "null"]},
        },
    })
}

fn variables(t: &Turning<'_>, schema: &Value, tools: &[&Tool], shown: &Shown) -> Map {
    let mut variables = llm::variables(t, schema);
    let tools: Vec<Value> = tools.iter().map(|it| shown_tool(it)).collect();
    let now = Date::of_millis(t.door.now());
    let groups: [(&[&str], Value); 8] = [
        (&["mcp_tools", "tools", "available_tools", "tool_list", "mcpTools"], Value::Array(tools)),
        (&["mcp_observations", "observations", "mcpObservations"], shown.list.clone()),
        (&["context", "contextJson", "context_json"], context(&t.session.context, &shown.list)),
        (&["current_date", "currentDate"], json!(now.day())),
        (&["current_datetime", "currentDateTime", "currentDatetime"], json!(now.day_and_time())),
        (&["current_year", "currentYear"], json!(now.year)),
        (&["current_system_datetime", "currentSystemDateTime", "currentSystemDatetime"], json!(now.day_and_time())),
        (&["current_timezone", "currentTimezone", "current_system_timezone", "currentSystemTimezone"], json!("UTC")),
    ];
    for (names, value) in groups {
        variables.extend(names.iter().map(|name| ((*name).to_owned(), value.clone())));
    }
    variables
}

/// A tool as planners see it, with what its arguments have to be where that is known.
fn shown_tool(tool: &Tool) -> Value {
    let mut shown = json!({"tool_code": tool.code, "tool_group": tool.group, "description": tool.description});
    if let (Some(shown), Some(arguments)) = (shown.as_object_mut(), &tool.arguments) {
        shown.insert("input_schema".to_owned(), (*arguments.source).clone());
    }
    shown
}

/// The context with the results as they are shown, so that they stand in a prompt in one size only.
fn context(context: &Map, shown: &Value) -> Value {
    let mut context = context.clone();
    if let Some(observations) = context.get_mut("mcp").and_then(|it| it.get_mut("observations")) {
        observations.clone_from(shown);
    }
    Value::Object(context)
}
