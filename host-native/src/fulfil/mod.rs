//! Fulfils effects: one arm a kind, so that a new kind does not compile until this host can do it.

pub mod container;
pub mod llm;

use std::sync::Arc;
use std::time::Duration;

use convengine_core::turn::{Answer, Completion, Effect, EffectError, EffectErrorKind, Reply, Request};
use tokio::time::Instant;

use crate::clock;
use crate::drive::Host;
use crate::stream::Tokens;

/// Answers an effect, at the latest when its deadline has passed.
pub async fn fulfil(host: Arc<Host>, tokens: Option<Tokens>, effect: Effect) -> Completion {
    let deadline = Duration::from_millis(effect.deadline_ms.into());
    let outcome = tokio::time::timeout(deadline, answer(&host, tokens.as_ref(), Instant::now() + deadline, &effect.request))
        .await
        .unwrap_or_else(|_| {
            let message = format!("no answer within {} ms", effect.deadline_ms);
            Answer::Error(EffectError::new(EffectErrorKind::Timeout, message))
        });
    Completion { id: effect.id, at: clock::now(), outcome }
}

async fn answer(host: &Host, tokens: Option<&Tokens>, by: Instant, request: &Request) -> Answer {
    if let Some((answer, delay_ms)) = host.models.bound(request) {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        return answer;
    }
    match request {
        Request::Llm(request) => host.models.llm(request, tokens, by).await,
        Request::Embed(request) => host.models.embed(request, by).await,
        Request::Task(request) => host.stand_ins.task(request),
        Request::Tool(request) => host.stand_ins.tool(request),
        Request::Container(request) => container::answer(&host.containers, &host.stand_ins, request).await,
        Request::Http(request) => host.stand_ins.http(request).unwrap_or_else(absent),
        Request::Sql(request) => host.stand_ins.sql(request).unwrap_or_else(absent),
        Request::Extension(_) => absent(),
        Request::Sleep(request) => {
            tokio::time::sleep(Duration::from_millis(request.ms.into())).await;
            Answer::Ok(Reply::Slept)
        }
    }
}

/// What this host cannot do yet.
fn absent() -> Answer {
    Answer::Error(EffectError::new(EffectErrorKind::Unsupported, "not available here"))
}
