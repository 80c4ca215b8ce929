//! The evals of an AI agent: they are played before it is published. (docs/spec/flows.md#10.6)

use std::sync::Arc;

use convengine_access::caller::ConversationAccess;
use convengine_content::bundle::{BundleError, resolve_bundle};
use convengine_core::config::flow::DocumentIssue;
use convengine_core::pack::{AgentEval, agent_evals};
use convengine_core::turn::Map;
use convengine_storage::assistant::ProgramKey;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Turns;
use crate::running_session::RunningSession;

/// How many evals are played at a time.
const CONCURRENT_EVALS: usize = 4;

/// How many failed evals the issue names.
const NAMED_FAILURES: usize = 5;

/// Plays the evals of an AI agent, each in a simulator session of its own. Returns an issue if fewer pass than the setting
/// `assistants.eval-pass-threshold` asks for.
pub async fn check_evals(turns: &Arc<Turns>, key: &ProgramKey, document: &Value) -> sqlx::Result<Option<DocumentIssue>> {
    let evals = agent_evals(document);
    let threshold = turns.content.eval_pass_threshold;
    if evals.is_empty() || threshold <= 0.0 {
        return Ok(None);
    }
    let bundle = match resolve_bundle(&turns.readers, key, document.clone()).await {
        Ok(bundle) => bundle,
        Err(BundleError::Database(error)) => return Err(error),
        Err(BundleError::TooManyDocuments) => return Ok(None),
    };
    // A document that cannot be compiled has issues of its own.
    let Some(config) = turns.content.flows.compile_and_store(&turns.content, bundle).await? else { return Ok(None) };
    let total = evals.len();
    let plays = evals.into_iter().map(|eval| {
        let session = RunningSession {
            session: Uuid::new_v4().to_string(),
            program: key.clone(),
            deployment: None,
            version: None,
            config: Arc::clone(&config),
            is_document_missing: false,
            is_new: true,
            access: ConversationAccess::all(),
            upgrade: None,
        };
        play_eval(Arc::clone(turns), session, eval)
    });
    let results: Vec<Option<String>> = stream::iter(plays).buffered(CONCURRENT_EVALS).collect().await;
    let failures: Vec<String> = results.into_iter().flatten().collect();
    let passed = total - failures.len();
    // Exact: the number of evals is far below 2^52.
    #[expect(clippy::cast_precision_loss, reason = "a document has few evals")]
    let rate = passed as f64 / total as f64;
    if rate >= threshold {
        return Ok(None);
    }
    let more = failures.len().saturating_sub(NAMED_FAILURES);
    let mut named = failures.into_iter().take(NAMED_FAILURES).collect::<Vec<_>>().join("; ");
    if more > 0 {
        named.push_str(&format!("; and {more} more"));
    }
    let message = format!("{passed} of {total} evals passed, of which {:.0} % have to: {named}", threshold * 100.0);
    Ok(Some(DocumentIssue::error("Q002", "/evals", message).with_fix("read the sessions, correct the AI agent or the evals")))
}

/// Plays an eval. Returns the reason if it failed.
async fn play_eval(turns: Arc<Turns>, running: RunningSession, eval: AgentEval) -> Option<String> {
    let text = eval.turn.request.as_ref().map(|it| it.body["text"].clone()).unwrap_or_default();
    let event = Map::from_iter([("type".to_owned(), json!("user.message")), ("text".to_owned(), text)]);
    let answered = match running.submit_event(&turns, event).await {
        Ok(answered) => answered,
        Err(refusal) => return Some(format!("'{}' could not be played: {refusal}", eval.name)),
    };
    let answer = answered.outcome.flow.map(|it| *it).unwrap_or_default();
    let replies: Vec<&str> = answer["messages"].as_array().into_iter().flatten().filter_map(|it| it["text"].as_str()).collect();
    let is_met = eval.is_met(&replies);
    (!is_met).then(|| format!("'{}' has no reply with \"{}\" (session {})", eval.name, eval.expected, running.session))
}
