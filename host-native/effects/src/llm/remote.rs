//! A model behind an HTTP API.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use convengine_core::turn::{EmbedReply, EmbedRequest, LlmReply, LlmRequest, Usage};
use convengine_settings::{LlmSettings, LlmTimeouts, ProviderKey};
use futures_util::stream::{Stream, StreamExt};
use reqwest::{Client, RequestBuilder};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::body::{BodyReader, Record, StreamForm};
use super::deltas::DeltaPublisher;
use super::failure::ModelFailure;
use super::response::{ModelCall, ModelResponse};
use super::{anthropic, ollama, openai, transport};

/// The API of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI chat completions.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Ollama chat.
    Ollama,
}

/// Names of the built-in providers in documents and `--llm`.
pub const PROVIDERS: [&str; 3] = ["openai", "anthropic", "ollama"];

/// A remote model, and what was learned about its API.
#[derive(Debug)]
pub struct RemoteModel {
    /// The name of its provider.
    pub provider: String,
    /// Its API.
    pub protocol: Protocol,
    /// The provider's name for it.
    pub model: String,
    /// The models that the provider may be asked for; any without one.
    pub models: Vec<String>,
    /// The base URL, without a trailing slash.
    pub address: String,
    /// The API key.
    pub key: Option<ProviderKey>,
    /// The HTTP client.
    pub client: Client,
    /// Whether it has rejected a temperature.
    pub rejects_temperature: AtomicBool,
    /// Whether it requires `max_completion_tokens` instead of `max_tokens`.
    pub uses_completion_tokens: AtomicBool,
}

impl Protocol {
    /// The provider's name.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::OpenAi => "openai",
            Protocol::Anthropic => "anthropic",
            Protocol::Ollama => "ollama",
        }
    }
}

impl RemoteModel {
    /// Provider and model, as in `--llm`; `named` is the model that replaces its own.
    pub fn name(&self, named: Option<&str>) -> String {
        format!("{}:{}", self.provider, named.unwrap_or(&self.model))
    }

    /// Makes one call of the `named` model, or its own; streams the answer if there are `deltas`.
    ///
    /// # Errors
    /// The failure if there is no complete answer.
    pub async fn generate(
        &self,
        request: &LlmRequest,
        named: Option<&str>,
        llm: &LlmSettings,
        mut deltas: Option<&mut DeltaPublisher<'_>>,
    ) -> Result<LlmReply, ModelFailure> {
        let model = named.unwrap_or(&self.model);
        if !self.models.is_empty() && !self.models.iter().any(|it| it == model) {
            return Err(ModelFailure::unknown_model(&self.provider, model, &self.models));
        }
        // The prices of the server's own models were checked at startup.
        if named.is_some() && llm.cap.is_some() && llm.price(&self.provider, model).is_none() {
            return Err(ModelFailure::unpriced(model));
        }
        let temperature = request.dialogue.as_ref().and_then(|it| it.temperature).or(llm.temperature);
        loop {
            let call = ModelCall {
                request,
                model,
                max_tokens: llm.max_tokens,
                temperature: temperature.filter(|_| !self.rejects_temperature.load(Ordering::Relaxed)),
                completion_tokens: self.uses_completion_tokens.load(Ordering::Relaxed),
                stream: deltas.is_some(),
            };
            match self.call_once(&call, llm.timeouts, deltas.as_deref_mut()).await {
                Ok(answer) => return Ok(self.build_reply(request, answer, model, llm)),
                Err(failed) if self.adapt_to_rejection(&call, &failed) => {}
                Err(failed) => return Err(failed),
            }
        }
    }

    async fn call_once(
        &self,
        call: &ModelCall<'_>,
        timeouts: LlmTimeouts,
        deltas: Option<&mut DeltaPublisher<'_>>,
    ) -> Result<ModelResponse, ModelFailure> {
        let (path, body) = match self.protocol {
            Protocol::OpenAi => ("/chat/completions", openai::build_body(call)),
            Protocol::Anthropic => ("/v1/messages", anthropic::build_body(call)),
            Protocol::Ollama => ("/api/chat", ollama::build_body(call)),
        };
        let response = transport::send(self.build_request(path, &body), timeouts).await?;
        // The parts of a body that is no stream may all come when the answer is complete.
        let idle = if call.stream { timeouts.idle } else { timeouts.response };
        let chunks = transport::stream_chunks(response, LlmTimeouts { idle, ..timeouts });
        self.read_body(call, chunks, deltas).await?.finish(call.request.mode)
    }

    async fn read_body(
        &self,
        call: &ModelCall<'_>,
        chunks: impl Stream<Item = Result<Bytes, ModelFailure>> + Send,
        mut deltas: Option<&mut DeltaPublisher<'_>>,
    ) -> Result<ModelResponse, ModelFailure> {
        let form = if self.protocol == Protocol::Ollama { StreamForm::Lines } else { StreamForm::Events };
        let mut reader = BodyReader::new(form, call.stream);
        let mut answer = ModelResponse::default();
        let mut chunks = std::pin::pin!(chunks);
        while let (false, Some(chunk)) = (answer.complete, chunks.next().await) {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                // Nothing is missing but the mark of the end.
                Err(_) if answer.has_finished => break,
                Err(failed) => return Err(failed),
            };
            for record in reader.push(&chunk)? {
                self.apply_record(call, &mut answer, record)?;
                if let Some(deltas) = deltas.as_deref_mut() {
                    deltas.follow(&answer.text);
                }
            }
        }
        if !answer.complete {
            self.read_end(call, &mut answer, reader.finish()?)?;
        }
        answer.text.finish();
        if let Some(deltas) = deltas.filter(|_| answer.complete) {
            deltas.follow(&answer.text);
            deltas.finish();
        }
        Ok(answer)
    }

    /// Applies the parts at the end of a body. One that is cut off counts as not received, and an answer that the model has ended is complete.
    fn read_end(&self, call: &ModelCall<'_>, answer: &mut ModelResponse, records: Vec<Record>) -> Result<(), ModelFailure> {
        for record in records {
            match self.apply_record(call, answer, record.clone()) {
                Err(_) if matches!(&record, Record::Part(text) if is_cut_off(text)) => {}
                applied => applied?,
            }
        }
        if answer.has_finished && !answer.complete {
            match self.protocol {
                Protocol::OpenAi => openai::end(answer),
                Protocol::Anthropic => anthropic::end(call, answer),
                Protocol::Ollama => {}
            }
        }
        Ok(())
    }

    fn apply_record(&self, call: &ModelCall<'_>, answer: &mut ModelResponse, record: Record) -> Result<(), ModelFailure> {
        match (record, self.protocol) {
            (Record::Error(body), _) => Err(ModelFailure::from_error_event(&body)),
            (Record::Part(_), _) if answer.complete => Ok(()),
            (Record::Part(data), Protocol::OpenAi) => openai::apply_event(call, answer, &data),
            (Record::Part(data), Protocol::Anthropic) => anthropic::apply_event(call, answer, &data),
            (Record::Part(line), Protocol::Ollama) => ollama::apply_line(answer, &line),
            (Record::Document(body), protocol) => {
                *answer = match protocol {
                    Protocol::OpenAi => openai::parse_response(call, &body),
                    Protocol::Anthropic => anthropic::parse_response(call, &body),
                    Protocol::Ollama => ollama::parse_response(&body),
                }?;
                Ok(())
            }
        }
    }

    /// Makes one embedding call.
    ///
    /// # Errors
    /// The failure if there is no answer, or not one vector per text.
    pub async fn embed(&self, request: &EmbedRequest, llm: &LlmSettings) -> Result<EmbedReply, ModelFailure> {
        let timeouts = llm.timeouts;
        let (path, body) = match self.protocol {
            Protocol::OpenAi => ("/embeddings", openai::build_embed_body(&self.model, &request.texts)),
            Protocol::Ollama => ("/api/embed", ollama::build_embed_body(&self.model, &request.texts)),
            Protocol::Anthropic => return Err(ModelFailure::unreadable("this provider has no embeddings")),
        };
        let response = transport::send(self.build_request(path, &body), timeouts).await?;
        let body = transport::read_json(response, timeouts).await?;
        let (vectors, reported) = match self.protocol {
            Protocol::OpenAi => (openai::parse_vectors(&body)?, body.pointer("/usage/prompt_tokens")),
            Protocol::Ollama | Protocol::Anthropic => (ollama::parse_vectors(&body)?, body.get("prompt_eval_count")),
        };
        if vectors.len() != request.texts.len() {
            return Err(ModelFailure::unreadable(format!("it has {} vectors for {} texts", vectors.len(), request.texts.len())));
        }
        let price = llm.price(&self.provider, &self.model);
        let tokens = reported.and_then(Value::as_u64).or_else(|| price.map(|_| estimate_embedding_tokens(request)));
        let usage = tokens.map(|input_tokens| Usage {
            input_tokens,
            output_tokens: 0,
            cost_micros: price.map(|price| price.cost(input_tokens, 0)),
        });
        Ok(EmbedReply { vectors, usage })
    }

    fn build_request(&self, path: &str, body: &Value) -> RequestBuilder {
        let call = self.client.post(format!("{}{path}", self.address)).header("Content-Type", "application/json").body(body.to_string());
        let call = if self.protocol == Protocol::Anthropic { anthropic::set_version(call) } else { call };
        match (&self.key, self.protocol) {
            (Some(ProviderKey(key)), Protocol::OpenAi) => openai::authenticate(call, key),
            (Some(ProviderKey(key)), Protocol::Anthropic) => anthropic::authenticate(call, key),
            (Some(_), Protocol::Ollama) | (None, _) => call,
        }
    }

    /// Builds the reply. Where a provider reports no usage of a priced model, it is estimated from the lengths of prompt and answer.
    fn build_reply(&self, request: &LlmRequest, answer: ModelResponse, requested: &str, llm: &LlmSettings) -> LlmReply {
        let price = [Some(requested), answer.model.as_deref()].into_iter().flatten().find_map(|it| llm.price(&self.provider, it));
        let (mut input_tokens, mut output_tokens) = (answer.input_tokens, answer.output_tokens);
        if price.is_some() {
            input_tokens = input_tokens.or_else(|| Some(estimate_prompt_tokens(request)));
            output_tokens = output_tokens.or_else(|| Some(estimate_answer_tokens(&answer)));
        }
        let usage = input_tokens.zip(output_tokens).map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
            cost_micros: price.map(|price| price.cost(input_tokens, output_tokens)),
        });
        let model = answer.model.unwrap_or_else(|| requested.to_owned());
        let (text, reasoning) = answer.text.into_parts();
        LlmReply { text, reasoning, provider: self.provider.clone(), model, usage, tool_calls: answer.tool_calls }
    }

    /// Records an unsupported parameter that the model has reported; returns whether a call without it may succeed. The set of such models
    /// changes too often for a list of names.
    fn adapt_to_rejection(&self, call: &ModelCall<'_>, failed: &ModelFailure) -> bool {
        let message = failed.error.message.to_lowercase();
        let refused = matches!(failed.error.status, Some(400 | 422));
        let is_unsupported = ["support", "deprecated", "not permitted", "not allowed"].iter().any(|it| message.contains(it));
        if !refused || !is_unsupported {
            return false;
        }
        if self.protocol == Protocol::OpenAi && !call.completion_tokens && message.contains("max_completion_tokens") {
            self.uses_completion_tokens.store(true, Ordering::Relaxed);
            return true;
        }
        if call.temperature.is_some() && message.contains("temperature") {
            self.rejects_temperature.store(true, Ordering::Relaxed);
            return true;
        }
        false
    }
}

/// Whether a text is the beginning of the data of an event.
fn is_cut_off(text: &str) -> bool {
    "[DONE]".starts_with(text) || serde_json::from_str::<IgnoredAny>(text).is_err_and(|it| it.is_eof())
}

/// The bytes that are assumed per token where their number is not known.
const BYTES_PER_TOKEN: usize = 3;

/// Estimates the tokens of a prompt with its tools.
pub fn estimate_prompt_tokens(request: &LlmRequest) -> u64 {
    let tools: usize = request.dialogue.iter().flat_map(|it| &it.tools).map(|tool| tool.parameters.to_string().len()).sum();
    (request.prompt().len() + tools).div_ceil(BYTES_PER_TOKEN) as u64
}

/// Estimates the tokens of texts to embed.
pub fn estimate_embedding_tokens(request: &EmbedRequest) -> u64 {
    request.texts.iter().map(|text| text.len().div_ceil(BYTES_PER_TOKEN) as u64).sum()
}

/// Estimates the tokens of an answer with its tool calls.
fn estimate_answer_tokens(answer: &ModelResponse) -> u64 {
    let calls: usize = answer.tool_calls.iter().map(|tool_call| tool_call.name.len() + tool_call.arguments.to_string().len()).sum();
    (answer.text.answer().len() + answer.text.reasoning().len() + calls).div_ceil(BYTES_PER_TOKEN) as u64
}
