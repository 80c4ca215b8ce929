//! Executes container effects: calls the service at `convengine.container.url`, or uses the replies imported with a pack.

use std::sync::Arc;

use convengine_core::pack::Fakes;
use convengine_core::turn::{ContainerReply, ContainerRequest, EffectError, EffectErrorKind, EffectResult, Reply};
use convengine_host_base::exit::Failure;
use convengine_host_base::tls;
use convengine_settings::secrets::Secrets;
use reqwest::Client;
use serde_json::Value;

use super::http::{self, BodyError};

/// Maximum size of a container reply in bytes.
const MAX_BYTES: usize = 8 << 20;

/// The container service, if one is configured.
#[derive(Debug)]
pub struct Containers(Option<Service>);

#[derive(Debug)]
struct Service {
    url: String,
    client: Client,
    secrets: Arc<Secrets>,
}

impl Containers {
    /// Creates the client of the service at `url`, which the operator chooses and may be in a private network; `None` disables it.
    ///
    /// # Errors
    /// A service failure if the HTTP client cannot be built.
    pub fn new(url: Option<String>, secrets: Arc<Secrets>) -> Result<Containers, Failure> {
        let Some(url) = url else { return Ok(Containers(None)) };
        let client = tls::client_for(&url).build();
        let failed = |error| {
            Failure::service_unavailable(format!("cannot create a client for the container service: {}", http::error_reason(&error)))
        };
        let client = client.map_err(failed)?;
        Ok(Containers(Some(Service { url, client, secrets })))
    }
}

/// Executes a container request. The effect's deadline limits how long it may take.
pub async fn execute(containers: &Containers, stand_ins: &Fakes, request: &ContainerRequest) -> EffectResult {
    let Some(service) = &containers.0 else { return stand_ins.answer_container(request) };
    match fetch(service, request).await {
        Ok(data) => EffectResult::Ok(Reply::Container(ContainerReply { data })),
        Err(error) => EffectResult::Error(EffectError { message: service.secrets.scrub(&error.message).into_owned(), ..error }),
    }
}

async fn fetch(service: &Service, request: &ContainerRequest) -> Result<Value, EffectError> {
    let failed = |kind, message: String| EffectError::new(kind, message);
    let body = serde_json::to_vec(request).map_err(|error| failed(EffectErrorKind::Invalid, error.to_string()))?;
    let call = service.client.post(&service.url).header("Content-Type", "application/json").body(body);
    let unavailable = |error: reqwest::Error| {
        failed(EffectErrorKind::Unavailable, format!("the container service cannot be reached: {}", http::error_reason(&error)))
    };
    let response = call.send().await.map_err(unavailable)?;
    let status = response.status();
    if !status.is_success() {
        let kind = if status.is_server_error() { EffectErrorKind::Unavailable } else { EffectErrorKind::Refused };
        return Err(failed(kind, format!("the container service answered with status {}", status.as_u16())));
    }
    let text = http::read_text(response, MAX_BYTES).await.map_err(|problem| match problem {
        BodyError::TooLong(_) => failed(EffectErrorKind::Invalid, format!("the container service cannot be used: {problem}")),
        BodyError::Connection(problem) => unavailable(problem),
    })?;
    serde_json::from_str(&service.secrets.scrub(&text))
        .map_err(|error| failed(EffectErrorKind::Invalid, format!("the container service did not answer with JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use convengine_core::turn::Map;
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    /// Returns the answer when the service replies with this body.
    async fn execute_with_body(body: String) -> EffectResult {
        let routes = Router::new().fallback(move || async move { body });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/?token=abc", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, routes).into_future());
        execute_with_url(url).await
    }

    async fn execute_with_url(url: String) -> EffectResult {
        let mut secrets = Secrets::default();
        secrets.add("crm", "hunter/2");
        let containers = Containers::new(Some(url), Arc::new(secrets)).expect("a service");
        let request = serde_json::from_value(json!({
            "pageId": 1, "sectionId": 2, "containerId": 3, "userId": "u", "loggedInUserId": "u", "inputParams": Map::new()
        }));
        execute(&containers, &Fakes::default(), &request.expect("a request")).await
    }

    fn expect_error(answer: EffectResult) -> (EffectErrorKind, String) {
        let EffectResult::Error(error) = answer else { panic!("{answer:?}") };
        (error.kind, error.message)
    }

    #[tokio::test]
    async fn no_secret_is_in_the_data() {
        let data = json!({"you sent": "[secret:crm]"});
        assert_eq!(
            execute_with_body(r#"{"you sent": "hunter\/2"}"#.to_owned()).await,
            EffectResult::Ok(Reply::Container(ContainerReply { data }))
        );
    }

    #[tokio::test]
    async fn data_may_have_eight_mebibytes() {
        let text = |length| format!("\"{}\"", "x".repeat(length - 2));
        assert!(matches!(execute_with_body(text(MAX_BYTES)).await, EffectResult::Ok(_)));
        let message = "the container service cannot be used: the answer has more than 8388608 bytes".to_owned();
        assert_eq!(expect_error(execute_with_body(text(MAX_BYTES + 1)).await), (EffectErrorKind::Invalid, message));
    }

    #[tokio::test]
    async fn no_address_is_in_an_error() {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        for url in [format!("http://{closed}/?token=abc"), format!("https://{closed}/?token=abc")] {
            let (kind, message) = expect_error(execute_with_url(url).await);
            assert_eq!(kind, EffectErrorKind::Unavailable);
            assert!(message.starts_with("the container service cannot be reached: ") && !message.contains("abc"), "{message}");
        }
    }
}
