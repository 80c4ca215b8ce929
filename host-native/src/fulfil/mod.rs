//! Fulfils effects: one arm a kind, so that a new kind does not compile until this host can do it.

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

/// How long the first call of an extension may wait for its module.
const COMPILE: Duration = Duration::from_secs(60);

/// Answers an effect, at the latest when its deadline has passed.
pub async fn fulfil(host: Arc<Host>, configured: Arc<Configured>, tokens: Option<Tokens>, effect: Effect) -> Completion {
    // An extension is stopped by what runs it, which does not count the time that its module is compiled.
    let extra = if matches!(effect.request, Request::Extension(_)) { COMPILE } else { Duration::ZERO };
    let (begun, from) = (Instant::now(), SystemTime::now());
    let by = begun + Duration::from_millis(effect.deadline_ms.into()) + extra;
    let outcome = tokio::time::timeout_at(by, answer(&host, &configured, tokens.as_ref(), by, &effect)).await.unwrap_or_else(|_| {
        let message = format!("no answer within {} ms", effect.deadline_ms);
        Answer::Error(EffectError::new(EffectErrorKind::Timeout, message))
    });
    // Nobody gets to know what was struck out: the core, and with it the journal and every listener, is told the rest.
    let outcome = host.redaction.answer(outcome);
    host.meter.effect(&effect.request, &outcome, begun.elapsed());
    if host.traces.is_on() {
        let asked = host.models.asked(&effect.request, &outcome);
        host.traces.send(observe::of_effect(&effect, &outcome, asked, from));
    }
    Completion { id: effect.id, at: clock::now(), outcome }
}

async fn answer(host: &Host, configured: &Configured, tokens: Option<&Tokens>, by: Instant, effect: &Effect) -> Answer {
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
            Ok(held) => {
                let answer = host.models.llm(request, tokens, by).await;
                if let Some(held) = held {
                    host.purse.settle(held, &answer).await;
                }
                answer
            }
            Err(error) => Answer::Error(error),
        },
        Request::Embed(request) => host.models.embed(request, by).await,
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
