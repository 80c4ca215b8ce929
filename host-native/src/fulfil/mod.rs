//! Executes the effects that the core requests: one match arm per kind, so that a new kind does not compile until this host supports it.

pub mod container;
pub mod documents;
pub mod files;
pub mod http;
pub mod llm;
mod retry_after;
pub mod sql;
pub mod tool;
mod words;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use convengine_core::turn::{Answer, Completion, Effect, EffectError, EffectErrorKind, Reply, Request};
use tokio::time::Instant;

use crate::clock;
use crate::configured::Configured;
use crate::drive::Host;
use crate::extension;
use crate::observe;
use crate::stream::Tokens;

/// Extra time for the first call of an extension, which compiles its module.
const COMPILE: Duration = Duration::from_secs(60);

/// Executes an effect and returns its completion, at the latest when its deadline has passed.
pub async fn fulfil(host: Arc<Host>, configured: Arc<Configured>, tokens: Option<Tokens>, effect: Effect) -> Completion {
    // The extension runtime enforces its own timeout, which excludes compilation.
    let extra = if matches!(effect.request, Request::Extension(_)) { COMPILE } else { Duration::ZERO };
    let (started, started_at) = (Instant::now(), SystemTime::now());
    let deadline = started + Duration::from_millis(effect.deadline_ms.into()) + extra;
    let execution = answer(&host, &configured, tokens.as_ref(), deadline, &effect);
    let outcome = tokio::time::timeout_at(deadline, execution).await.unwrap_or_else(|_| {
        let message = format!("no answer within {} ms", effect.deadline_ms);
        Answer::Error(EffectError::new(EffectErrorKind::Timeout, message))
    });
    // Redact before the core sees the outcome, so that neither the journal nor a subscriber gets the removed values.
    let outcome = host.redaction.answer(outcome);
    host.meter.effect(&effect.request, &outcome, started.elapsed());
    if host.traces.is_on() {
        let model = host.models.asked(&effect.request, &outcome);
        host.traces.send(observe::of_effect(&effect, &outcome, model, started_at));
    }
    Completion { id: effect.id, at: clock::now(), outcome }
}

async fn answer(host: &Host, configured: &Configured, tokens: Option<&Tokens>, deadline: Instant, effect: &Effect) -> Answer {
    if let Some((answer, delay_ms)) = host.models.bound(&effect.request) {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        return answer;
    }
    if matches!(effect.request, Request::Llm(_) | Request::Embed(_))
        && let Err(error) = host.spend.allows(&host.readers).await
    {
        return Answer::Error(error);
    }
    match &effect.request {
        Request::Llm(request) => match host.purse.hold(host, configured, effect, request).await {
            Ok(reservation) => {
                let answer = host.models.llm(request, tokens, deadline).await;
                if let Some(reservation) = reservation {
                    host.purse.settle(reservation, &answer).await;
                }
                answer
            }
            Err(error) => Answer::Error(error),
        },
        Request::Embed(request) => host.models.embed(request, deadline).await,
        Request::Task(request) => configured.stand_ins.task(request),
        Request::Tool(request) => tool::answer(host, &configured.stand_ins, request).await,
        Request::Container(request) => container::answer(&host.containers, &configured.stand_ins, request).await,
        Request::Http(request) => match configured.stand_ins.http(request) {
            Some(answer) => answer,
            None => http::answer(&host.http, request, &effect.key, host.traces.is_on()).await,
        },
        Request::Sql(request) => match configured.stand_ins.sql(request) {
            Some(answer) => answer,
            None => sql::answer(&host.queries, &host.secrets, request).await,
        },
        Request::Extension(request) => extension::answer(&configured.extensions, request).await,
        Request::Sleep(request) => {
            tokio::time::sleep(Duration::from_millis(request.ms.into())).await;
            Answer::Ok(Reply::Slept)
        }
    }
}
