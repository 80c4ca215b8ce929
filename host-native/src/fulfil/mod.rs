//! Fulfils effects: one arm a kind, so that a new kind does not compile until this host can do it.

pub mod container;
pub mod documents;
pub mod files;
pub mod http;
pub mod llm;
pub mod sql;
pub mod tool;
mod words;

use std::sync::Arc;
use std::time::Duration;

use convengine_core::turn::{Answer, Completion, Effect, EffectError, EffectErrorKind, Reply, Request};

use crate::clock;
use crate::drive::Host;
use crate::extension;

/// How long the first call of an extension may wait for its module.
const COMPILE: Duration = Duration::from_secs(60);

/// Answers an effect, at the latest when its deadline has passed.
pub async fn fulfil(host: Arc<Host>, effect: Effect) -> Completion {
    // An extension is stopped by what runs it, which does not count the time that its module is compiled.
    let extra = if matches!(effect.request, Request::Extension(_)) { COMPILE } else { Duration::ZERO };
    let deadline = Duration::from_millis(effect.deadline_ms.into()) + extra;
    let outcome = tokio::time::timeout(deadline, answer(&host, &effect.request, &effect.key)).await.unwrap_or_else(|_| {
        let message = format!("no answer within {} ms", effect.deadline_ms);
        Answer::Error(EffectError::new(EffectErrorKind::Timeout, message))
    });
    Completion { id: effect.id, at: clock::now(), outcome }
}

async fn answer(host: &Host, request: &Request, key: &str) -> Answer {
    if let Some((answer, delay_ms)) = host.model.bound(request) {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        return answer;
    }
    match request {
        Request::Llm(request) => llm::answer(&host.model, request).await,
        Request::Embed(request) => llm::embed(&host.model, request),
        Request::Task(request) => host.stand_ins.task(request),
        Request::Tool(request) => tool::answer(host, request).await,
        Request::Container(request) => container::answer(&host.containers, &host.stand_ins, request).await,
        Request::Http(request) => match host.stand_ins.http(request) {
            Some(answer) => answer,
            None => http::answer(&host.http, request, key).await,
        },
        Request::Sql(request) => match host.stand_ins.sql(request) {
            Some(answer) => answer,
            None => sql::answer(&host.queries, &host.secrets, request).await,
        },
        Request::Extension(request) => extension::answer(&host.extensions, request).await,
        Request::Sleep(request) => {
            tokio::time::sleep(Duration::from_millis(request.ms.into())).await;
            Answer::Ok(Reply::Slept)
        }
    }
}
