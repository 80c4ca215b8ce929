//! Executes model effects: chooses the model for each call, falls back to the next one, and removes secrets from the answers.

mod anthropic;
mod body;
mod deltas;
mod dialogue;
mod failure;
mod ollama;
mod openai;
mod purpose;
mod remote;
mod response;
mod retry_policy;
mod routes;
mod scripted;
#[cfg(test)]
mod tests;
mod tool_calls;
mod transport;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use convengine_core::lint::flow::ModelProvider;
use convengine_core::turn::{
    EffectError, EffectErrorKind, EffectResult, EmbedRequest, LlmReply, LlmRequest, Millis, Reply, Request, TurnInput,
};
use convengine_host_base::exit::Failure;
use convengine_host_base::meter::Meter;
use convengine_settings::LlmSettings;
use convengine_settings::secrets::Secrets;
use tokio::time::{Instant, timeout_at};

use crate::OutputSink;
use crate::failure_log::{llm_texts, log_model_failure};
use deltas::DeltaPublisher;
use failure::{ModelFailure, NextAction};
use retry_policy::{INITIAL_BACKOFF, RetryPolicy};
use routes::{Model, ModelRoute};
pub use routes::{SCRIPTED, list_providers};
use scripted::ScriptedModel;

/// Timeout for connecting to a model.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of an error message for the core in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// All models of a server.
#[derive(Debug)]
pub struct Models {
    routes: Vec<ModelRoute>,
    /// The models of named providers.
    named: Vec<Model>,
    llm: LlmSettings,
    secrets: Arc<Secrets>,
    first_wait: Duration,
    meter: Meter,
}

/// The answer to a model call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// The first answer, or the last failure.
    pub result: EffectResult,
    /// The failed attempts that may be billed although their usage is unknown.
    pub billed_attempts: u32,
}

/// A request to a model.
enum ModelRequest<'a> {
    Llm(&'a LlmRequest, Option<DeltaPublisher<'a>>),
    Embed(&'a EmbedRequest),
}

impl ModelRequest<'_> {
    /// The purpose as a metric label, which is one of a fixed set.
    fn purpose(&self) -> &str {
        match self {
            ModelRequest::Llm(request, _) if purpose::is_known(&request.purpose) => &request.purpose,
            ModelRequest::Llm(..) => "other",
            ModelRequest::Embed(_) => purpose::EMBED,
        }
    }

    fn texts(&self) -> Vec<String> {
        match self {
            ModelRequest::Llm(request, _) => llm_texts(request),
            ModelRequest::Embed(request) => request.texts.clone(),
        }
    }
}

impl Models {
    /// Creates the models of the settings.
    ///
    /// # Errors
    /// A usage failure for invalid values of `--llm`, and for named providers that cannot be used.
    pub fn new(llm: &LlmSettings, secrets: Arc<Secrets>) -> Result<Models, Failure> {
        let (routes, named) = (routes::parse_routes(llm)?, routes::build_named(llm)?);
        Ok(Models { routes, named, llm: llm.clone(), secrets, first_wait: INITIAL_BACKOFF, meter: Meter::default() })
    }

    /// Returns the providers that documents may name.
    pub fn providers(&self) -> BTreeMap<String, ModelProvider> {
        list_providers(&self.llm)
    }

    /// Returns how long a call may take, with all attempts and models.
    pub fn call_timeout(&self) -> Duration {
        self.llm.timeouts.call
    }

    /// Counts model calls with `meter`.
    #[must_use]
    pub fn with_meter(self, meter: Meter) -> Models {
        Models { meter, ..self }
    }

    /// Returns provider and model of a call for its trace: those that answered, else those that are called first.
    pub fn model_for_trace(&self, request: &Request, answer: &EffectResult) -> Option<(&str, &str)> {
        let order = match request {
            Request::Llm(request) => self.models_for_request(request).into_iter().map(|it| it.0).collect(),
            Request::Embed(_) | Request::PhraseSearch(_) => self.embedding_models(),
            _ => return None,
        };
        let provider = match answer {
            EffectResult::Ok(Reply::Llm(reply)) => reply.provider.as_str(),
            _ => "",
        };
        let names: Vec<_> = order.iter().map(|it| it.names()).collect();
        names.iter().find(|it| it.0 == provider).or(names.first()).copied()
    }

    /// Returns the answer that a scripted turn has for a request, with its delay in milliseconds.
    pub fn scripted_answer(&self, request: &Request) -> Option<(EffectResult, u64)> {
        self.scripts().find_map(|it| it.turn_answer(request))
    }

    /// Notifies the scripted models that a turn begins; returns the turn's time if one of them sets it.
    pub fn begin_turn(&self, input: &TurnInput) -> Option<Millis> {
        let times: Vec<Option<Millis>> = self.scripts().map(|it| it.begin_turn(input)).collect();
        times.into_iter().flatten().next()
    }

    /// Executes a model call within `deadline` and publishes the deltas of the answer to `tokens`.
    pub async fn generate(&self, request: &LlmRequest, tokens: Option<&dyn OutputSink>, deadline: Instant) -> ModelAnswer {
        let order = self.models_for_request(request);
        let deltas = tokens.map(|it| DeltaPublisher::new(it, &self.secrets));
        let missing = self.missing_model(request, order.is_empty());
        self.call_in_order(&order, ModelRequest::Llm(request, deltas), deadline, &missing).await
    }

    /// Says what to set up for a call that no model answers.
    fn missing_model(&self, request: &LlmRequest, is_without_models: bool) -> Cow<'static, str> {
        let requested = request.dialogue.as_ref().and_then(|it| it.model.as_deref()).filter(|_| is_without_models);
        match requested.filter(|name| self.split_provider(name).0.is_some()) {
            Some(name) => format!("the server does not have the provider of '{name}': start it with --llm {name}").into(),
            None => "no language model is set up: start the server with --llm".into(),
        }
    }

    /// Returns the maximum cost of a call in millionths of the currency, with the dearest model that may answer; 0 if no price is known.
    pub fn estimate_cost(&self, request: &LlmRequest) -> u64 {
        let cost = |(model, named): (&Model, Option<&str>)| {
            let Model::Remote(remote) = model else { return None };
            let price = self.llm.price(&remote.provider, named.unwrap_or(&remote.model))?;
            Some(price.cost(remote::estimate_prompt_tokens(request), self.llm.max_tokens))
        };
        self.models_for_request(request).into_iter().filter_map(cost).max().unwrap_or(0)
    }

    /// Returns the maximum cost of embedding texts in millionths of the currency, with the dearest model that may answer; 0 if no price is
    /// known.
    pub fn estimate_embedding_cost(&self, request: &EmbedRequest) -> u64 {
        let cost = |model: &Model| {
            let Model::Remote(remote) = model else { return None };
            Some(self.llm.price(&remote.provider, &remote.model)?.cost(remote::estimate_embedding_tokens(request), 0))
        };
        self.embedding_models().into_iter().filter_map(cost).max().unwrap_or(0)
    }

    /// Returns the first model that embeds texts: a name to store with its vectors. `None` without one, and for scripted models, whose
    /// vectors are not worth storing.
    pub fn embedding_model(&self) -> Option<String> {
        let order = self.embedding_models();
        match order.first()? {
            Model::Off | Model::Scripted(_) => None,
            Model::Remote(remote) => Some(remote.name(None)),
        }
    }

    /// Whether a script answers for the model that embeds texts.
    pub fn is_embedding_scripted(&self) -> bool {
        let order = self.embedding_models();
        matches!(order.first(), Some(Model::Scripted(script)) if script.has_embeddings())
    }

    /// Embeds texts within `deadline`.
    pub async fn embed(&self, request: &EmbedRequest, deadline: Instant) -> ModelAnswer {
        self.embed_with(usize::MAX, request, deadline).await
    }

    /// Embeds texts with the first model within `deadline`: vectors of different models cannot be compared.
    pub async fn embed_with_first(&self, request: &EmbedRequest, deadline: Instant) -> ModelAnswer {
        self.embed_with(1, request, deadline).await
    }

    async fn embed_with(&self, most: usize, request: &EmbedRequest, deadline: Instant) -> ModelAnswer {
        let order = self.embedding_models();
        let order: Vec<_> = order.into_iter().take(most).map(|it| (it, None)).collect();
        self.call_in_order(&order, ModelRequest::Embed(request), deadline, "no model for embeddings is set up").await
    }

    /// Returns the models for embeddings in order: those that are set up for them, else scripted ones.
    fn embedding_models(&self) -> Vec<&Model> {
        self.models_for_purpose(purpose::EMBED, |model| matches!(model, Model::Scripted(_)))
    }

    fn scripts(&self) -> impl Iterator<Item = &ScriptedModel> {
        self.routes.iter().filter_map(|route| if let Model::Scripted(script) = &route.model { Some(script) } else { None })
    }

    /// Returns the models to try in order: those of the purpose, else of its group, else those without a purpose that `fallback` accepts.
    fn models_for_purpose(&self, purpose: &str, fallback: impl Fn(&Model) -> bool) -> Vec<&Model> {
        let of = |purpose: &str| {
            self.routes.iter().filter(|route| route.purpose.as_deref() == Some(purpose)).map(|route| &route.model).collect::<Vec<_>>()
        };
        let named = [Some(purpose), purpose::group_of(purpose)].into_iter().flatten().map(of).find(|it| !it.is_empty());
        let others = || {
            self.routes.iter().filter(|route| route.purpose.is_none()).map(|route| &route.model).filter(|model| fallback(model)).collect()
        };
        named.unwrap_or_else(others)
    }

    /// Returns the models to try for a call, each with the model name that replaces its own. A document may name a model and a configured
    /// provider, but cannot enable a purpose that is off.
    fn models_for_request<'m, 'r>(&'m self, request: &'r LlmRequest) -> Vec<(&'m Model, Option<&'r str>)> {
        let order = self.models_for_purpose(&request.purpose, |_| true);
        let requested = request.dialogue.as_ref().and_then(|it| it.model.as_deref());
        let Some(requested) = requested.filter(|_| !order.iter().any(|model| matches!(model, Model::Off))) else {
            return order.into_iter().map(|it| (it, None)).collect();
        };
        let (provider, name) = self.split_provider(requested);
        let all = order.iter().copied().chain(self.routes.iter().map(|it| &it.model)).chain(&self.named);
        if let Some(model) = provider.and_then(|provider| all.into_iter().find(|model| model.names().0 == provider)) {
            return vec![(model, Some(name))];
        }
        // The name replaces only that of the first remote model: the others need not have the same models.
        let first = order.iter().position(|model| matches!(model, Model::Remote(_)));
        order.into_iter().enumerate().map(|(at, model)| (model, Some(name).filter(|_| first == Some(at)))).collect()
    }

    /// Splits `PROVIDER:MODEL`, or `PROVIDER/MODEL` of a named provider. Both signs may also be part of a model's name.
    fn split_provider<'r>(&self, requested: &'r str) -> (Option<&'r str>, &'r str) {
        let is_named = |it: &str| self.llm.providers.contains_key(it);
        let by_colon = requested.split_once(':').filter(|parts| remote::PROVIDERS.contains(&parts.0) || is_named(parts.0));
        let split = by_colon.or_else(|| requested.split_once('/').filter(|parts| is_named(parts.0)));
        split.filter(|it| !it.1.is_empty()).map_or((None, requested), |(provider, name)| (Some(provider), name))
    }

    /// Returns the first answer. The remaining time is split evenly, so that a slow model leaves time for the others.
    async fn call_in_order(
        &self,
        order: &[(&Model, Option<&str>)],
        mut request: ModelRequest<'_>,
        deadline: Instant,
        missing: &str,
    ) -> ModelAnswer {
        let mut error = EffectError::new(EffectErrorKind::Unsupported, missing);
        let mut billed_attempts = 0;
        for (index, (model, named)) in order.iter().enumerate() {
            let left = u32::try_from(order.len() - index).unwrap_or(u32::MAX);
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            let started = Instant::now();
            let answer = self.call_with_retries((*model, *named), &mut request, started + share, left == 1, &mut billed_attempts).await;
            let result = answer.as_ref().map_err(|failed| failed.as_ref().map_or(EffectErrorKind::Unsupported, |failed| failed.error.kind));
            self.meter.record_model_call(model.names(), request.purpose(), result, started.elapsed());
            let failed = match answer {
                Ok(reply) => return ModelAnswer { result: EffectResult::Ok(self.scrub_reply(reply)), billed_attempts },
                Err(Some(failed)) => failed,
                Err(None) => break,
            };
            let then = failed.next_action;
            error = self.label_error((model, *named), failed.error);
            if then == NextAction::Stop {
                break;
            }
            if left > 1 {
                let sent = request.texts();
                log_model_failure(Some(model.names()), request.purpose(), &sent, &error, "model call failed; trying the next model");
            }
        }
        ModelAnswer { result: EffectResult::Error(error), billed_attempts }
    }

    /// Calls one model with retries, and counts the failed attempts that may be billed; `Err(None)` if the model is off.
    async fn call_with_retries(
        &self,
        model: (&Model, Option<&str>),
        request: &mut ModelRequest<'_>,
        deadline: Instant,
        is_last: bool,
        billed_attempts: &mut u32,
    ) -> Result<Reply, Option<ModelFailure>> {
        let mut retries = RetryPolicy::new(self.llm.max_attempts, self.first_wait, deadline);
        loop {
            let answer = self.call_once(model, request);
            // The effect's deadline limits the last model.
            let answer = if is_last { answer.await } else { timeout_at(deadline, answer).await.unwrap_or_else(|_| Err(Some(timed_out()))) };
            match answer {
                Ok(reply) => return Ok(reply),
                Err(None) => return Err(None),
                Err(Some(failed)) => {
                    *billed_attempts += u32::from(failed.may_be_billed);
                    retries.wait_before_retry(self.scrub_failure(failed)).await.map_err(Some)?;
                }
            }
        }
    }

    async fn call_once(
        &self,
        (model, named): (&Model, Option<&str>),
        request: &mut ModelRequest<'_>,
    ) -> Result<Reply, Option<ModelFailure>> {
        if let ModelRequest::Llm(_, Some(deltas)) = request {
            deltas.begin_attempt();
        }
        match (model, request) {
            (Model::Off, _) => Err(None),
            (Model::Scripted(script), ModelRequest::Llm(request, _)) => script_result(script.generate(request).await),
            (Model::Scripted(script), ModelRequest::Embed(request)) => script_result(script.embed(request)),
            (Model::Remote(remote), ModelRequest::Llm(request, deltas)) => {
                remote.generate(request, named, &self.llm, deltas.as_mut()).await.map(Reply::Llm).map_err(Some)
            }
            (Model::Remote(remote), ModelRequest::Embed(request)) => remote.embed(request, &self.llm).await.map(Reply::Embed).map_err(Some),
        }
    }

    fn scrub_reply(&self, reply: Reply) -> Reply {
        let Reply::Llm(mut reply) = reply else { return reply };
        let scrub = |text: &str| self.secrets.scrub(text).into_owned();
        for call in &mut reply.tool_calls {
            (call.id, call.name) = (scrub(&call.id), scrub(&call.name));
            let arguments = scrub(&call.arguments.to_string());
            // A number that is a secret leaves invalid JSON: the text is passed on, and the core reports it to the model.
            call.arguments = serde_json::from_str(&arguments).unwrap_or(serde_json::Value::String(arguments));
        }
        Reply::Llm(LlmReply { text: scrub(&reply.text), reasoning: scrub(&reply.reasoning), model: scrub(&reply.model), ..reply })
    }

    fn scrub_failure(&self, mut failed: ModelFailure) -> ModelFailure {
        failed.error.message = self.secrets.scrub(&failed.error.message).into_owned();
        failed
    }

    /// Prefixes the error of a remote model with its name and limits its length.
    fn label_error(&self, (model, named): (&Model, Option<&str>), mut error: EffectError) -> EffectError {
        if let Model::Remote(remote) = model {
            let message: String = error.message.chars().take(MAX_MESSAGE_CHARS).collect();
            error.message = format!("{}: {message}", remote.name(named));
        }
        error
    }
}

fn timed_out() -> ModelFailure {
    ModelFailure::new(EffectErrorKind::Timeout, NextAction::TryNextModel, "no response within its share of the time").billed()
}

/// A scripted model is never retried: its rules count their uses.
fn script_result(answer: EffectResult) -> Result<Reply, Option<ModelFailure>> {
    match answer {
        EffectResult::Ok(reply) => Ok(reply),
        EffectResult::Error(error) => Err(Some(ModelFailure { error, next_action: NextAction::TryNextModel, may_be_billed: false })),
    }
}
