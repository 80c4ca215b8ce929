//! Data of containers: from the service of `convengine.container.url`, else from what was imported with a pack.

use convengine_core::pack::StandIns;
use convengine_core::turn::{Answer, ContainerReply, ContainerRequest, EffectError, EffectErrorKind, Reply};
use reqwest::Client;
use serde_json::Value;

/// Who answers containers.
#[derive(Debug)]
pub struct Containers(Option<(String, Client)>);

impl Containers {
    /// The service at an address; nobody without one.
    pub fn at(url: Option<String>) -> Containers {
        Containers(url.map(|it| (it, Client::new())))
    }
}

/// Answers a container. How long that may take is up to the effect's deadline.
pub async fn answer(containers: &Containers, stand_ins: &StandIns, request: &ContainerRequest) -> Answer {
    let Some((url, client)) = &containers.0 else { return stand_ins.container(request) };
    match ask(client, url, request).await {
        Ok(data) => Answer::Ok(Reply::Container(ContainerReply { data })),
        Err(error) => Answer::Error(error),
    }
}

async fn ask(client: &Client, url: &str, request: &ContainerRequest) -> Result<Value, EffectError> {
    let failed = |kind, message: String| EffectError::new(kind, message);
    let body = serde_json::to_vec(request).map_err(|it| failed(EffectErrorKind::Invalid, it.to_string()))?;
    let call = client.post(url).header("Content-Type", "application/json").body(body);
    let unavailable = |it: reqwest::Error| failed(EffectErrorKind::Unavailable, format!("the container service cannot be reached: {it}"));
    let response = call.send().await.map_err(unavailable)?;
    let status = response.status();
    if !status.is_success() {
        let kind = if status.is_server_error() { EffectErrorKind::Unavailable } else { EffectErrorKind::Refused };
        return Err(failed(kind, format!("the container service answered with status {}", status.as_u16())));
    }
    let text = response.text().await.map_err(unavailable)?;
    serde_json::from_str(&text)
        .map_err(|it| failed(EffectErrorKind::Invalid, format!("the container service did not answer with JSON: {it}")))
}
