//! Requests the next plan from the model. (docs/spec/tools.md#2.4)

use convengine_config::{Planner, Tool};
use convengine_text::date::Date;
use convengine_text::json::into_members;
use convengine_turn::{EffectError, LlmMode, Map, payload};
use serde_json::{Value, json};

use super::observation::{self, PromptObservations, ToolObservation};
use super::plan::Plan;
use crate::audit::Stage;
use crate::llm;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish, publish_and_audit};

/// The name in progress messages.
const PROGRESS_NAME: &str = "McpPlanner";

/// Characters of an invalid reply that are repeated to the model.
const MAX_REPEATED_CHARS: usize = 1000;

/// Returns the next plan; an invalid reply is sent back once with the reason.
///
/// # Errors
/// The model call failed.
pub(super) async fn request_plan(cx: &mut StepContext<'_>, tools: &[&Tool], observations: &[ToolObservation]) -> Result<Plan, EffectError> {
    let config = cx.config;
    let planner = config.planners.select(&cx.session.intent, &cx.session.state);
    let reply = ask_model(cx, planner, tools, observations, None).await?;
    let unusable = match Plan::parse(&reply) {
        Ok(plan) => return Ok(plan),
        Err(unusable) => unusable,
    };
    let hint = format!(
        "Your last reply cannot be used: {}. It began:\n{}\nReply again, with one JSON object that has exactly the members asked for.",
        unusable.reason,
        reply.chars().take(MAX_REPEATED_CHARS).collect::<String>()
    );
    let reply = ask_model(cx, planner, tools, observations, Some(hint)).await?;
    Ok(Plan::parse(&reply).unwrap_or_else(|invalid| Plan::from_answer(invalid.answer)))
}

async fn ask_model(
    cx: &mut StepContext<'_>,
    planner: &Planner,
    tools: &[&Tool],
    observations: &[ToolObservation],
    hint: Option<String>,
) -> Result<String, EffectError> {
    let tools = select_tools(planner, tools);
    let schema = plan_schema(&tools);
    let shown = observation::render_observations(observations, &cx.config.settings.tools);
    let variables = plan_variables(cx, &schema, &tools, &shown);
    let mut prompts = llm::render_prompts(cx, &planner.prompts.system, &planner.prompts.user, &variables);
    let mut input = json!({
        "templateFromCeConfig (McpPlanner)": planner.source,
        "system_prompt": prompts.system,
        "user_prompt": prompts.user,
        "schema": schema,
        "mcp_observations_compacted": shown.is_truncated,
        "mcp_observations_raw_chars": shown.raw_chars,
        "mcp_observations_final_chars": shown.chars,
    });
    if let (Some(input), Some(hint)) = (input.as_object_mut(), &hint) {
        input.insert("derivation_hint".to_owned(), json!(hint));
    }
    prompts.hint = hint;
    publish_and_audit(cx, Stage::McpPlanLlmInput, Progress::new(PROGRESS_NAME, "MCP_PLAN_LLM_INPUT"), input);
    match llm::call_model(cx, "mcp_plan", LlmMode::Json, prompts, Some(schema)).await {
        Ok(reply) => {
            publish_and_audit(
                cx,
                Stage::McpPlanLlmOutput,
                Progress::new(PROGRESS_NAME, "MCP_PLAN_LLM_OUTPUT"),
                json!({"json": reply.text}),
            );
            Ok(reply.text)
        }
        Err(error) => {
            publish(cx, Progress::survived(PROGRESS_NAME, "MCP_PLAN_LLM_ERROR"), || into_members(json!({"error": error.message})));
            cx.audit(Stage::McpPlanLlmError, |_| payload!({"error": error.message}));
            Err(error)
        }
    }
}

/// The tools that the prompts name; all of them when they name none.
fn select_tools<'c>(planner: &Planner, tools: &[&'c Tool]) -> Vec<&'c Tool> {
    let named: Vec<&Tool> = tools.iter().filter(|tool| planner.mentioned_tools.contains(&tool.code.to_lowercase())).copied().collect();
    if named.is_empty() { tools.to_vec() } else { named }
}

fn plan_schema(tools: &[&Tool]) -> Value {
    let codes: Vec<Value> = tools.iter().map(|tool| json!(tool.code)).chain([Value::Null]).collect();
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

fn plan_variables(cx: &StepContext<'_>, schema: &Value, tools: &[&Tool], shown: &PromptObservations) -> Map {
    let mut variables = llm::prompt_variables(cx, schema);
    let tools: Vec<Value> = tools.iter().map(|it| tool_entry(it)).collect();
    let now = Date::from_millis(cx.effects.now());
    let groups: [(&[&str], Value); 8] = [
        (&["mcp_tools", "tools", "available_tools", "tool_list", "mcpTools"], Value::Array(tools)),
        (&["mcp_observations", "observations", "mcpObservations"], shown.list.clone()),
        (&["context", "contextJson", "context_json"], prompt_context(&cx.session.context, &shown.list)),
        (&["current_date", "currentDate"], json!(now.to_day_string())),
        (&["current_datetime", "currentDateTime", "currentDatetime"], json!(now.to_rfc3339())),
        (&["current_year", "currentYear"], json!(now.year())),
        (&["current_system_datetime", "currentSystemDateTime", "currentSystemDatetime"], json!(now.to_rfc3339())),
        (&["current_timezone", "currentTimezone", "current_system_timezone", "currentSystemTimezone"], json!("UTC")),
    ];
    for (names, value) in groups {
        variables.extend(names.iter().map(|name| ((*name).to_owned(), value.clone())));
    }
    variables
}

/// A tool as shown to the planner, with the schema of its arguments if known.
fn tool_entry(tool: &Tool) -> Value {
    let mut shown = json!({"tool_code": tool.code, "tool_group": tool.group, "description": tool.description});
    if let (Some(shown), Some(arguments)) = (shown.as_object_mut(), &tool.arguments) {
        shown.insert("input_schema".to_owned(), (*arguments.source).clone());
    }
    shown
}

/// The context with observations replaced by their shown form, so that a prompt has them in one size only.
fn prompt_context(context: &Map, shown: &Value) -> Value {
    let mut context = context.clone();
    if let Some(observations) = context.get_mut("mcp").and_then(|it| it.get_mut("observations")) {
        observations.clone_from(shown);
    }
    Value::Object(context)
}
