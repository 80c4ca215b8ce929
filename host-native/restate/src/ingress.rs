//! Asks Restate for turns, in place of running them in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use convengine_content::Content;
use convengine_core::turn::UserEvent;
use convengine_host_base::exit::Failure;
use convengine_redaction::Choices;
use convengine_settings::Settings;
use convengine_storage::assistant::session;
use convengine_turns::TurnCluster;
use convengine_turns::Turns;
use convengine_turns::idempotency;
use convengine_turns::message::{Message, SubmitResult};
use convengine_turns::refusal::Refusal;
use convengine_turns::session_changes::SessionChange;
use convengine_turns::stream::RelayedEvents;
use futures_util::future::BoxFuture;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, StatusCode};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::request::{TurnAnswer, TurnEnd, TurnRequest, hash_event};

/// The pause before another address is tried.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How much longer than a turn an answer may take: turns queue.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long operations other than turns are tried: another node leads in a few seconds.
const OPERATION_PATIENCE: Duration = Duration::from_secs(10);

/// How often a message under a key is asked for again that was refused each time before. Then its refusal is final until the cluster forgets it.
const MAX_REPEATED_REFUSALS: usize = 16;

/// How long the events of a turn are waited for after its answer.
const RELAY_PATIENCE: Duration = Duration::from_secs(1);

/// The ingress of a Restate cluster.
#[derive(Debug)]
pub struct Ingress {
    client: Client,
    /// The addresses of the cluster's nodes, which are equivalent.
    addresses: Vec<String>,
    /// The address that answered last.
    preferred: AtomicUsize,
    tenant: Option<String>,
    /// Whether turns of conversations of tables leave rows in the database.
    leaves_rows: bool,
}

impl Ingress {
    fn new(addresses: Vec<String>, tenant: Option<String>, leaves_rows: bool) -> reqwest::Result<Ingress> {
        convengine_host_base::crypto::install_crypto_provider();
        let client = Client::builder().no_proxy().tcp_nodelay(true).build()?;
        Ok(Ingress { client, addresses, preferred: AtomicUsize::new(0), tenant, leaves_rows })
    }

    /// Returns the cluster of a tenant's settings, if they name one.
    ///
    /// # Errors
    /// Returns exit code 3 when no HTTP client can be created.
    pub fn from_settings(settings: &Settings) -> Result<Option<Ingress>, Failure> {
        let addresses = settings.restate.ingress.clone();
        if addresses.is_empty() {
            return Ok(None);
        }
        let ingress = Ingress::new(addresses, settings.tenant.clone(), settings.restate.conversation_rows);
        ingress.map(Some).map_err(|error| Failure::service_unavailable(format!("cannot create a client: {error}")))
    }

    /// Runs the turn of a message. A message that is sent again under its key gets the answer of its first turn.
    ///
    /// # Errors
    /// Returns [`Refusal`]; the conversation is then unchanged.
    async fn run_turn(&self, turns: &Arc<Turns>, message: &Message) -> Result<SubmitResult, Refusal> {
        // The answer of Restate to a repeated key does not depend on the message, so the rows decide whether it is the same.
        if let Some(outcome) = Box::pin(idempotency::find_outcome(turns, message)).await? {
            return Ok(SubmitResult { outcome, is_repeat: true });
        }
        let event = redact_event(&turns.content, message).await?;
        let request =
            TurnRequest { conversation: conversation_of(message), ..TurnRequest::new(&turns.content, self.tenant.clone(), message, event) };
        let mut key = message.idempotency_key.clone().unwrap_or_else(|| request.nonce.clone());
        let mut answer = self.request_turn(turns, message, &request, &key).await?;
        for _ in 0..MAX_REPEATED_REFUSALS {
            if !is_repeated_refusal(&answer, &request.nonce) {
                break;
            }
            // The cluster repeats a refusal, too; but what was refused then may be accepted now. All who ask again use the same next key.
            key = uuid_of(&format!("after a refusal of {key}")).to_string();
            answer = self.request_turn(turns, message, &request, &key).await?;
        }
        let is_repeat = answer.nonce != request.nonce;
        if is_repeat {
            if let Some(outcome) = Box::pin(idempotency::find_outcome(turns, message)).await? {
                return Ok(SubmitResult { outcome, is_repeat });
            }
            if answer.event.as_ref().is_some_and(|hash| *hash != hash_event(&request.event)) {
                return Err(Refusal::KeyReused);
            }
        }
        let TurnEnd { outcome, is_handoff } = answer.result.map_err(Refusal::from)?;
        if outcome.flow.is_some() {
            // Fails while no client of this process waits.
            let _ = turns.session_changes.send(SessionChange { session: Arc::from(request.conversation.as_str()), is_handoff });
        }
        Ok(SubmitResult { outcome, is_repeat })
    }

    /// Requests a turn under a key, and passes its events on to the caller of the message.
    async fn request_turn(&self, turns: &Arc<Turns>, message: &Message, request: &TurnRequest, key: &str) -> Result<TurnAnswer, Refusal> {
        let handler = if message.idempotency_key.is_some() { "turn" } else { "turn_without_key" };
        let call = self.call(&request.conversation, handler, key, Some(request), turns.settings.max_duration + PATIENCE);
        let Some(subscriber) = message.subscriber.clone() else { return call.await };
        let mut relayed = RelayedEvents::subscribe(&turns.streams, &request.nonce, subscriber);
        let mut call = std::pin::pin!(call);
        let answer: TurnAnswer = tokio::select! {
            answer = &mut call => answer?,
            () = relayed.pass_on() => call.await?,
        };
        if answer.nonce == request.nonce && answer.result.is_ok() {
            // The answer may overtake the last events. What is then missing is in the answer.
            let _ = timeout(RELAY_PATIENCE, relayed.pass_on()).await;
        }
        Ok(answer)
    }

    /// Cancels the running turn of a run; returns whether there is one.
    ///
    /// # Errors
    /// Returns [`Refusal::Unreachable`].
    async fn cancel(&self, run: &str) -> Result<bool, Refusal> {
        self.call(run, "cancel", &Uuid::new_v4().to_string(), None::<&()>, OPERATION_PATIENCE).await
    }

    /// Deletes the state of conversations, one after the other; returns how many had any. Their rows are deleted later: without them nobody
    /// would ask for it again.
    ///
    /// # Errors
    /// Returns [`Refusal::Unreachable`]; the state of some may be deleted then.
    async fn forget(&self, conversations: &[String]) -> Result<u64, Refusal> {
        let mut with_state = 0;
        for conversation in conversations {
            // Workers of earlier versions do not tell.
            let found: Option<bool> =
                self.call(conversation, "forget", &Uuid::new_v4().to_string(), None::<&()>, OPERATION_PATIENCE).await?;
            with_state += u64::from(found == Some(true));
        }
        Ok(with_state)
    }

    /// Calls a handler of a conversation's object. A call that may not have arrived is sent again, to the next address, under its key.
    async fn call<T: serde::de::DeserializeOwned>(
        &self,
        conversation: &str,
        handler: &str,
        key: &str,
        body: Option<&impl serde::Serialize>,
        patience: Duration,
    ) -> Result<T, Refusal> {
        let object = self.tenant.as_ref().map_or_else(|| conversation.to_owned(), |it| format!("{it}/{conversation}"));
        let object = utf8_percent_encode(&object, NON_ALPHANUMERIC);
        let deadline = Instant::now() + patience;
        loop {
            let chosen = self.preferred.load(Ordering::Relaxed) % self.addresses.len().max(1);
            let address = self.addresses.get(chosen).map(String::as_str).unwrap_or_default();
            let request = self.client.post(format!("{address}/Conversation/{object}/{handler}")).header("idempotency-key", key);
            // A handler without input accepts no body.
            let request = match body {
                Some(body) => request.json(body),
                None => request,
            };
            let error = match request.timeout(deadline.saturating_duration_since(Instant::now())).send().await {
                Ok(answer) if answer.status().is_success() => match answer.bytes().await {
                    Ok(bytes) => {
                        let text = if bytes.is_empty() { b"null" } else { &*bytes };
                        return serde_json::from_slice(text)
                            .map_err(|error| Refusal::Internal(format!("unreadable answer of the runtime: {error}")));
                    }
                    Err(error) => error.without_url().to_string(),
                },
                Ok(answer) => {
                    let (status, is_ingress) =
                        (answer.status(), answer.headers().get("x-restate-error-source").is_some_and(|it| it == "ingress"));
                    let text = answer.text().await.unwrap_or_default();
                    let reason = serde_json::from_str::<serde_json::Value>(&text).ok();
                    let reason = reason.as_ref().and_then(|details| details.get("message")?.as_str()).unwrap_or("no reason").to_owned();
                    if status == StatusCode::NOT_FOUND {
                        return Err(Refusal::Unreachable(format!("{reason}; start a worker and register it")));
                    }
                    if !is_ingress || !status.is_server_error() {
                        return Err(Refusal::Internal(format!("the runtime answered {status}: {reason}")));
                    }
                    reason
                }
                Err(error) => error.without_url().to_string(),
            };
            if Instant::now() + RETRY_PAUSE >= deadline {
                return Err(Refusal::Unreachable(format!("{error}; check convengine.restate.ingress")));
            }
            self.preferred.store(chosen + 1, Ordering::Relaxed);
            sleep(RETRY_PAUSE).await;
        }
    }
}

impl TurnCluster for Ingress {
    fn leaves_rows(&self) -> bool {
        self.leaves_rows
    }

    fn run_turn<'a>(&'a self, turns: &'a Arc<Turns>, message: &'a Message) -> BoxFuture<'a, Result<SubmitResult, Refusal>> {
        Box::pin(self.run_turn(turns, message))
    }

    fn cancel<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, Refusal>> {
        Box::pin(self.cancel(run))
    }

    fn forget<'a>(&'a self, conversations: &'a [String]) -> BoxFuture<'a, Result<u64, Refusal>> {
        Box::pin(self.forget(conversations))
    }
}

/// Redacts the event of a message, which the cluster stores. What its session offers to choose from is in its rows, which each turn leaves.
async fn redact_event(content: &Content, message: &Message) -> Result<UserEvent, Refusal> {
    let is_read = message.flow.is_some() && !content.outbound.redaction.is_off();
    let stored = if is_read { session::find(&content.readers, &message.conversation).await? } else { None };
    let mut event = message.event.clone();
    content.outbound.redaction.redact_event(&mut event, &Choices::offered_by(stored.as_ref().map(|it| &it.state)));
    Ok(event)
}

/// Whether a message may run under another key: an earlier one under its key was refused before it wrote anything.
fn is_repeated_refusal(answer: &TurnAnswer, nonce: &str) -> bool {
    answer.nonce != nonce && answer.result.is_err() && !answer.has_writes
}

/// Returns the conversation of a message. A new one under a key has the same id each time it is sent, so that Restate notices that it is.
fn conversation_of(message: &Message) -> String {
    match &message.idempotency_key {
        Some(key) if !message.has_conversation_id => uuid_of(key).to_string(),
        _ => message.conversation.clone(),
    }
}

/// Returns a UUID that depends on a text only.
fn uuid_of(text: &str) -> Uuid {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(Sha256::digest(text.as_bytes())).for_each(|(to, from)| *to = from);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::Map;

    use super::super::refused_turn::RefusedTurn;
    use super::*;

    #[test]
    fn only_what_was_refused_before_it_wrote_runs_under_another_key() {
        let refused = |nonce: &str, has_writes| {
            let result = Err(RefusedTurn::Conflict);
            is_repeated_refusal(&TurnAnswer { nonce: nonce.to_owned(), event: None, has_writes, result }, "n")
        };
        assert_eq!((refused("m", false), refused("m", true), refused("n", false)), (true, false, false));
    }

    #[test]
    fn a_new_conversation_has_the_id_of_its_key() {
        let message = |id: Option<&str>, key: Option<&str>| {
            conversation_of(&Message::new(id.map(str::to_owned), None, false, Map::new()).with_key(key.map(str::to_owned)))
        };
        assert_eq!(message(None, Some("a")), message(None, Some("a")));
        assert_ne!(message(None, Some("a")), message(None, Some("b")));
        assert_ne!(message(None, None), message(None, None));
        assert_eq!(message(Some("c"), Some("a")), "c");
    }
}
