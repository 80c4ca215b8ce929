//! Model calls: prompts are rendered and audited, and every call is logged.

mod variables;

pub use variables::prompt_variables;

use convengine_text::template::Template;
use convengine_text::value::TEMPLATE;
use convengine_turn::{EffectError, LlmCallRow, LlmMode, LlmReply, LlmRequest, Map, Write, payload};
use serde_json::{Value, json};

use crate::audit::Stage;
use crate::step_context::StepContext;

/// A pair of rendered prompts.
#[derive(Debug, Clone, Default)]
pub struct Prompts {
    /// System prompt.
    pub system: String,
    /// User prompt.
    pub user: String,
    /// Text appended to the prompt.
    pub hint: Option<String>,
}

/// Renders two prompts and audits both.
pub fn render_prompts(cx: &StepContext<'_>, system: &Template, user: &Template, variables: &Map) -> Prompts {
    let render = |template: &Template| {
        let text = cx.session.render(template, || variables.clone()).text;
        cx.audit(Stage::PromptRendering, |_| payload!({"rendered_template": text, "promptVars": to_texts(variables)}));
        text
    };
    Prompts { system: render(system), user: render(user), hint: None }
}

fn to_texts(variables: &Map) -> Map {
    variables.iter().map(|(key, value)| (key.clone(), Value::from(TEMPLATE.print(value)))).collect()
}

/// Calls a model and logs the call. What it thought aloud is audited and is no part of its answer.
///
/// # Errors
/// The host's error; the call site decides how to handle it.
pub async fn call_model(
    cx: &mut StepContext<'_>,
    purpose: &str,
    mode: LlmMode,
    prompts: Prompts,
    schema: Option<Value>,
) -> Result<LlmReply, EffectError> {
    let request = LlmRequest {
        purpose: purpose.to_owned(),
        mode,
        system: prompts.system,
        user: prompts.user,
        hint: prompts.hint,
        schema,
        context: Value::Object(cx.session.context.clone()),
        user_text: cx.session.text().to_owned(),
        dialogue: None,
    };
    let mut row = LlmCallRow::new(cx.session.intent.clone(), cx.session.state.clone(), &request);
    let outcome = cx.effects.perform(request).await;
    row.complete(&outcome, cx.effects.now());
    row.provider = name_or_unknown(row.provider);
    row.model = name_or_unknown(row.model);
    cx.session.writes.push(Write::LlmCall(row));
    if let Some(reply) = outcome.as_ref().ok().filter(|reply| !reply.reasoning.is_empty()) {
        cx.audit(Stage::LlmReasoning, |_| payload!({"purpose": purpose, "reasoning": reply.reasoning}));
    }
    outcome
}

fn name_or_unknown(name: String) -> String {
    if name.trim().is_empty() { convengine_config::UNKNOWN.to_owned() } else { name }
}

/// Explains which template was chosen, or that none matches.
pub fn explain_template(cx: &StepContext<'_>, format: &str, chosen: Option<i64>) {
    let (intent, state) = (&cx.session.intent, &cx.session.state);
    if let Some(explanation) = cx.effects.begin_explanation("template") {
        let verdict = if chosen.is_some() { "the narrowest scope wins" } else { "no template matches" };
        let rows = cx.config.prompts.candidates(format, intent, state, chosen);
        explanation
            .with_subject(json!({"format": format, "intent": intent, "state": state}))
            .with_candidates(rows)
            .record(&cx.effects, verdict);
    }
}
