//! Requests the next plan from the model. (docs/spec/tools.md#2.4)

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

/// Characters of an invalid reply that are repeated to the model.
const REPEATED: usize = 1000;

/// Returns the next plan; an invalid reply is sent back once with the reason.
///
/// # Errors
/// The model call failed.
pub(super) async fn plan(cx: &mut Turning<'_>, tools: &[&Tool], observations: &[Observation]) -> Result<Plan, EffectError> {
    let config = cx.config;
    let planner = config.planners.select(&cx.session.intent, &cx.session.state);
    let reply = ask(cx, planner, tools, observations, None).await?;
    let unusable = match Plan::parse(&reply) {
        Ok(plan) => return Ok(plan),
        Err(unusable) => unusable,
    };
    let hint = format!(
        "Your last reply cannot be used: {}. It began:\n{}\nReply again, with one JSON object that has exactly the members asked for.",
        unusable.reason,
        reply.chars().take(REPEATED).collect::<String>()
    );
    let reply = ask(cx, planner, tools, observations, Some(hint)).await?;
    Ok(Plan::parse(&reply).unwrap_or_else(|it| Plan::answer(it.answer)))
}

async fn ask(
    cx: &mut Turning<'_>,
    planner: &Planner,
    tools: &[&Tool],
    observations: &[Observation],
    hint: Option<String>,
) -> Result<String, EffectError> {
    let tools = listed(planner, tools);
    let schema = schema(&tools);
    let shown = observe::show(observations, &cx.config.settings.tools);
    let variables = variables(cx, &schema, &tools, &shown);
    let mut prompts = llm::prompts(cx, &planner.prompts.system, &planner.prompts.user, &variables);
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
    tell(cx, Stage::McpPlanLlmInput, Progress::new(NAME, "MCP_PLAN_LLM_INPUT"), input);
    match llm::ask(cx, "mcp_plan", LlmMode::Json, prompts, Some(schema)).await {
        Ok(reply) => {
            tell(cx, Stage::McpPlanLlmOutput, Progress::new(NAME, "MCP_PLAN_LLM_OUTPUT"), json!({"json": reply.text}));
            Ok(reply.text)
        }
        Err(error) => {
            publish(cx, Progress::error(NAME, "MCP_PLAN_LLM_ERROR"), || members(json!({"error": error.message})));
            cx.audit(Stage::McpPlanLlmError, |_| json!({"error": error.message}));
            Err(error)
        }
    }
}

/// The tools that the prompts name; all of them when they name none.
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

fn variables(cx: &Turning<'_>, schema: &Value, tools: &[&Tool], shown: &Shown) -> Map {
    let mut variables = llm::variables(cx, schema);
    let tools: Vec<Value> = tools.iter().map(|it| shown_tool(it)).collect();
    let now = Date::of_millis(cx.door.now());
    let groups: [(&[&str], Value); 8] = [
        (&["mcp_tools", "tools", "available_tools", "tool_list", "mcpTools"], Value::Array(tools)),
        (&["mcp_observations", "observations", "mcpObservations"], shown.list.clone()),
        (&["context", "contextJson", "context_json"], context(&cx.session.context, &shown.list)),
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

/// A tool as shown to the planner, with the schema of its arguments if known.
fn shown_tool(tool: &Tool) -> Value {
    let mut shown = json!({"tool_code": tool.code, "tool_group": tool.group, "description": tool.description});
    if let (Some(shown), Some(arguments)) = (shown.as_object_mut(), &tool.arguments) {
        shown.insert("input_schema".to_owned(), (*arguments.source).clone());
    }
    shown
}

/// The context with observations replaced by their shown form, so that a prompt has them in one size only.
fn context(context: &Map, shown: &Value) -> Value {
    let mut context = context.clone();
    if let Some(observations) = context.get_mut("mcp").and_then(|it| it.get_mut("observations")) {
        observations.clone_from(shown);
    }
    Value::Object(context)
}
