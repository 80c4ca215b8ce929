//! Executes the effects that the core requests: one match arm per kind, so that a new kind does not compile until this host supports it.

mod notify;
mod task;
mod tool_call;

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use convengine_content::charged_call::charge;
use convengine_content::config::active::ActiveConfig;
use convengine_content::knowledge;
use convengine_content::phrase_vectors;
use convengine_content::spend_budget::Budget;
use convengine_core::turn::{Completion, Effect, EffectError, EffectErrorKind, EffectResult, Reply, Request, SqlRequest};
use convengine_effects::Outbound;
use convengine_effects::{OutputSink, container, cut_message, extension, failure_log, http, script, sql};
use convengine_host_base::clock;
use futures_util::FutureExt;
use tokio::time::Instant;

use crate::Turns;
use crate::observe;
use crate::stream::TokenPublisher;

/// Extra time for the first call of an extension or a script, which compiles its module.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(60);

/// Executes an effect and returns its completion, at the latest when its deadline has passed.
pub async fn execute_effect(
    turns: Arc<Turns>,
    configured: Arc<ActiveConfig>,
    tokens: Option<TokenPublisher>,
    effect: Effect,
) -> Completion {
    // The runtimes of extensions and scripts enforce their own timeouts, which exclude compilation.
    let extra = if matches!(effect.request, Request::Extension(_) | Request::Script(_)) { COMPILE_TIMEOUT } else { Duration::ZERO };
    let (started, started_at) = (Instant::now(), SystemTime::now());
    // The progress of a tool comes in whole messages, which are redacted one by one.
    let may_stream = turns.outbound.redaction.allows_streaming() || matches!(effect.request, Request::Tool(_));
    let tokens = tokens.filter(|tokens| may_stream && tokens.is_needed());
    let limit = limit(&turns.outbound, &effect);
    let deadline = started + limit.time + extra;
    let execution = catch_panic(dispatch(&turns, &configured, tokens.as_ref().map(|sink| sink as &dyn OutputSink), deadline, &effect));
    let outcome = tokio::time::timeout_at(deadline, execution).await.unwrap_or_else(|_| {
        let setting = limit.setting.map(|it| format!("; {it} is the limit")).unwrap_or_default();
        let message = format!("no answer within {} ms{setting}", limit.time.as_millis());
        EffectResult::Error(EffectError::new(EffectErrorKind::Timeout, message))
    });
    // Redact before the core sees the outcome, so that neither the journal nor a subscriber gets the removed values.
    let outcome = match turns.outbound.redaction.redact_answer(outcome) {
        EffectResult::Error(error) => EffectResult::Error(cut_message(error)),
        answer @ EffectResult::Ok(_) => answer,
    };
    turns.meter.record_effect(&effect.request, &outcome, started.elapsed());
    failure_log::log_failure(&effect.request, &outcome, turns.outbound.models.model_for_trace(&effect.request, &outcome));
    if turns.traces.is_on() {
        let model = turns.outbound.models.model_for_trace(&effect.request, &outcome);
        turns.traces.send(observe::effect_span(&effect, &outcome, model, started_at));
    }
    Completion { id: effect.id, at: turns.clock.now(), outcome }
}

/// Turns a panic of the host or of a library into an error of the effect: a turn never ends silently.
async fn catch_panic(execution: impl Future<Output = EffectResult>) -> EffectResult {
    // What a panic may have left half done belongs to the effect, or is behind a lock that is taken over.
    AssertUnwindSafe(execution).catch_unwind().await.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!("the host failed within this effect: {}", text.unwrap_or("it panicked"));
        EffectResult::Error(EffectError::new(EffectErrorKind::Interrupted, message))
    })
}

/// How long an effect may take.
struct Limit {
    time: Duration,
    /// The setting that limits it; `None` if the effect itself does.
    setting: Option<&'static str>,
}

/// Returns the limit of an effect: its own, bounded by the settings. Calls of models and queries have no limit of their own that an author
/// sets, so the settings alone decide.
fn limit(outbound: &Outbound, effect: &Effect) -> Limit {
    let own = Duration::from_millis(effect.deadline_ms.into());
    let tools = outbound.tool_timeouts;
    let (time, setting) = match &effect.request {
        Request::Llm(_) => return Limit { time: outbound.models.call_timeout(), setting: Some("convengine.llm.timeout") },
        Request::Sql(_) if tools.sql <= tools.call => return Limit { time: tools.sql, setting: Some("convengine.tools.sql-timeout") },
        Request::Sql(_) => return Limit { time: tools.call, setting: Some("convengine.tools.timeout") },
        Request::Embed(_) | Request::PhraseSearch(_) => (outbound.models.call_timeout(), "convengine.llm.timeout"),
        Request::Http(_) | Request::Task(_) | Request::Tool(_) | Request::Container(_) | Request::Extension(_) | Request::Knowledge(_) => {
            (tools.call, "convengine.tools.timeout")
        }
        // Scripts have a setting of their own, and the core bounds sleep.
        Request::Script(_) | Request::Sleep(_) => return Limit { time: own, setting: None },
    };
    if time < own { Limit { time, setting: Some(setting) } } else { Limit { time: own, setting: None } }
}

async fn dispatch(
    turns: &Arc<Turns>,
    configured: &ActiveConfig,
    tokens: Option<&dyn OutputSink>,
    deadline: Instant,
    effect: &Effect,
) -> EffectResult {
    if let Some((answer, delay_ms)) = turns.outbound.models.scripted_answer(&effect.request) {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        return answer;
    }
    match &effect.request {
        Request::Llm(request) => {
            let budget = Budget::of_turn(&turns.content, &configured.config, clock::now());
            charge(
                &turns.content,
                budget,
                turns.outbound.models.estimate_cost(request),
                turns.outbound.models.generate(request, tokens, deadline),
            )
            .await
            .result
        }
        Request::Embed(request) => {
            let budget = Budget::of_turn(&turns.content, &configured.config, clock::now());
            charge(
                &turns.content,
                budget,
                turns.outbound.models.estimate_embedding_cost(request),
                turns.outbound.models.embed(request, deadline),
            )
            .await
            .result
        }
        Request::Task(request) if configured.is_function(request) => task::run_function(turns, request, &effect.key).await,
        Request::Task(request) => configured.fakes.answer_task(request),
        Request::Tool(request) => tool_call::execute(&turns.content, configured, tokens, &effect.key, request, deadline).await,
        Request::Container(request) => container::execute(&turns.outbound.containers, &configured.fakes, request).await,
        Request::Http(request) => match configured.fakes.answer_http(request) {
            Some(answer) => answer,
            None => match notify::complete_request(turns, request).await {
                Ok(request) => {
                    let request = turns.outbound.redaction.redact_desk_call(&request).map_or(request, Cow::Owned);
                    http::execute(&turns.outbound.http, &request, &effect.key, turns.traces.is_on()).await
                }
                Err(error) => EffectResult::Error(error),
            },
        },
        Request::Sql(request) => match configured.fakes.answer_sql(request) {
            Some(answer) => answer,
            None => {
                let tools = turns.outbound.tool_timeouts;
                let timeout_ms = u32::try_from(tools.sql.min(tools.call).as_millis()).unwrap_or(u32::MAX);
                sql::execute(&turns.outbound.queries, &turns.outbound.secrets, &SqlRequest { timeout_ms, ..request.clone() }).await
            }
        },
        Request::Extension(request) => extension::execute(&turns.outbound.blocking, &configured.extensions, request).await,
        Request::Knowledge(request) => knowledge::effect::execute(&turns.content, &configured.config, request, deadline).await,
        Request::PhraseSearch(request) => phrase_vectors::search(&turns.content, &configured.config, request, deadline).await,
        Request::Script(request) => script::execute(&turns.outbound.blocking, request, turns.outbound.script_timeout).await,
        Request::Sleep(request) => {
            tokio::time::sleep(Duration::from_millis(request.ms.into())).await;
            EffectResult::Ok(Reply::Slept)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_effect() {
        let failed = |text: &'static str| async move { if text.is_empty() { EffectResult::Ok(Reply::Slept) } else { panic!("{text}") } };
        assert_eq!(catch_panic(failed("")).await, EffectResult::Ok(Reply::Slept));
        let EffectResult::Error(error) = catch_panic(failed("not a boundary")).await else { panic!("no error") };
        assert_eq!(error.kind, EffectErrorKind::Interrupted);
        assert_eq!(error.message, "the host failed within this effect: not a boundary");
    }
}
