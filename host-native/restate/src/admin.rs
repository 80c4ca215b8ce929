//! The versions of the worker that a cluster knows, by its administration interface.

use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use convengine_host_base::redact_url::redact_url;

/// How long an answer is waited for. The first registration reads what the worker serves.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The member of a registration with the version of the program.
const VERSION: &str = "version";

/// Counts the turns and effects that have begun on each version, and whether new ones begin there.
const STATES: &str = "select d.id as id,
    (select count(*) from sys_invocation_status i where i.pinned_deployment_id = d.id and i.status <> 'completed') as open,
    (select count(*) from sys_service s where s.deployment_id = d.id) as services
  from sys_deployment d";

/// A version of the worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkerVersion {
    /// The id in the cluster.
    pub id: String,
    /// The address of its workers.
    pub address: String,
    /// The version of the program; absent if it was registered otherwise.
    pub version: Option<String>,
    /// When it was registered.
    pub registered: String,
    /// Whether new turns begin on it.
    pub is_current: bool,
    /// The turns and effects that have begun on it and not ended.
    pub open: u64,
}

impl WorkerVersion {
    /// Whether nothing runs on it any more, nor will.
    pub fn is_drained(&self) -> bool {
        !self.is_current && self.open == 0
    }
}

/// The administration interface of a cluster.
#[derive(Debug)]
pub struct Admin {
    client: Client,
    /// The addresses of the cluster's nodes, which are equivalent.
    addresses: Vec<String>,
}

/// A deployment as the cluster describes it.
#[derive(Debug, Deserialize)]
struct Deployment {
    id: String,
    uri: String,
    created_at: String,
    #[serde(default)]
    metadata: serde_json::Map<String, Value>,
}

impl Admin {
    /// Creates the client of a cluster.
    ///
    /// # Errors
    /// Returns an error when no HTTP client can be created.
    pub fn new(addresses: Vec<String>) -> reqwest::Result<Admin> {
        convengine_host_base::crypto::install_crypto_provider();
        Ok(Admin { client: Client::builder().no_proxy().timeout(TIMEOUT).build()?, addresses })
    }

    /// Returns the versions, oldest first.
    ///
    /// # Errors
    /// Returns the reason when no node answers.
    pub async fn list(&self) -> Result<Vec<WorkerVersion>, String> {
        #[derive(Deserialize)]
        struct Found {
            deployments: Vec<Deployment>,
        }
        #[derive(Deserialize)]
        struct States {
            rows: Vec<State>,
        }
        #[derive(Deserialize)]
        struct State {
            id: String,
            open: u64,
            services: u64,
        }
        let found: Found = read(&self.call(Method::GET, "/v3/deployments", None).await?)?;
        let states: States = read(&self.call(Method::POST, "/query", Some(&json!({"query": STATES}))).await?)?;
        let version = |it: Deployment| {
            let state = states.rows.iter().find(|state| state.id == it.id)?;
            let version = it.metadata.get(VERSION).and_then(Value::as_str).map(str::to_owned);
            let address = it.uri.trim_end_matches('/').to_owned();
            Some(WorkerVersion { id: it.id, address, version, registered: it.created_at, is_current: state.services > 0, open: state.open })
        };
        let mut versions: Vec<WorkerVersion> = found.deployments.into_iter().filter_map(version).collect();
        versions.sort_by(|a, b| a.registered.cmp(&b.registered));
        Ok(versions)
    }

    /// Registers the workers at an address, on which new turns begin from then on. Returns the id of their version.
    ///
    /// # Errors
    /// Returns the reason, for example when no worker answers there.
    pub async fn register(&self, address: &str) -> Result<String, String> {
        let body = json!({"uri": address, "force": false, "metadata": {VERSION: env!("CARGO_PKG_VERSION")}});
        let answer: Value = read(&self.call(Method::POST, "/v3/deployments", Some(&body)).await?)?;
        Ok(answer.get("id").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    /// Removes a version. The caller has checked that it is drained.
    ///
    /// # Errors
    /// Returns the reason when it is not removed.
    pub async fn remove(&self, id: &str) -> Result<(), String> {
        // Without `force` the cluster removes nothing in this version of it.
        self.call(Method::DELETE, &format!("/v3/deployments/{id}?force=true"), None).await.map(|_| ())
    }

    /// Sends a request to the first node that answers.
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<String, String> {
        let mut unreachable = "convengine.restate.admin names no address".to_owned();
        for address in &self.addresses {
            let request = self.client.request(method.clone(), format!("{address}{path}")).header("accept", "application/json");
            let request = match body {
                Some(body) => request.json(body),
                None => request,
            };
            let answer = match request.send().await {
                Ok(answer) => answer,
                Err(error) => {
                    unreachable = format!("no answer from {}: {}", redact_url(address), error.without_url());
                    continue;
                }
            };
            let status = answer.status();
            let text = answer.text().await.map_err(|it| it.to_string())?;
            return if status.is_success() { Ok(text) } else { Err(reason(status, &text)) };
        }
        Err(unreachable)
    }
}

/// Returns the reason of an error answer.
fn reason(status: StatusCode, text: &str) -> String {
    let message = serde_json::from_str::<Value>(text).ok().and_then(|body| Some(body.get("message")?.as_str()?.to_owned()));
    // The rest of a message is a stack of the cluster's code.
    let first = message.as_deref().unwrap_or(text).lines().next().unwrap_or_default().to_owned();
    format!("the cluster answered {status}: {first}")
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|it| format!("unreadable answer of the cluster: {it}"))
}
