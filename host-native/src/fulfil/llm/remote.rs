//! A model behind an HTTP API.

use std::sync::atomic::{AtomicBool, Ordering};

use convengine_core::turn::{EmbedReply, EmbedRequest, LlmReply, LlmRequest, Usage};
use futures_util::stream::StreamExt;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;

use super::deltas::Deltas;
use super::failed::Failed;
use super::said::{Call, Said};
use super::{anthropic, ollama, openai, wire};
use crate::settings::{Key, Llm};

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

/// Provider names in documents and `--llm`.
pub const PROVIDERS: [&str; 3] = ["openai", "anthropic", "ollama"];

/// A remote model, and what was learned about its API.
#[derive(Debug)]
pub struct Remote {
    /// Its API.
    pub protocol: Protocol,
    /// The provider's name for it.
    pub model: String,
    /// The base URL, without a trailing slash.
    pub address: String,
    /// The API key.
    pub key: Option<Key>,
    /// The HTTP client.
    pub client: Client,
    /// Whether it has rejected a temperature.
    pub takes_no_temperature: AtomicBool,
    /// Whether it requires `max_completion_tokens` instead of `max_tokens`.
    pub wants_completion_tokens: AtomicBool,
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

impl Remote {
    /// Provider and model, as in `--llm`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.protocol.name(), self.model)
    }

    /// Makes one call of the `named` model, or its own; streams the answer if there are `deltas`.
    ///
    /// # Errors
    /// The failure if there is no complete answer.
    pub async fn ask(
        &self,
        request: &LlmRequest,
        named: Option<&str>,
        llm: &Llm,
        mut deltas: Option<&mut Deltas<'_>>,
    ) -> Result<LlmReply, Failed> {
        let model = named.unwrap_or(&self.model);
        // The prices of the server's own models were checked at startup.
        if named.is_some() && llm.cap.is_some() && !llm.prices.contains_key(model) {
            return Err(Failed::unpriced(model));
        }
        let temperature = request.dialogue.as_ref().and_then(|it| it.temperature).or(llm.temperature);
        loop {
            let call = Call {
                request,
                model,
                max_tokens: llm.max_tokens,
                temperature: temperature.filter(|_| !self.takes_no_temperature.load(Ordering::Relaxed)),
                completion_tokens: self.wants_completion_tokens.load(Ordering::Relaxed),
                stream: deltas.is_some(),
            };
            match self.once(&call, deltas.as_deref_mut()).await {
                Ok(answer) => return Ok(self.reply(answer, model, llm)),
                Err(failed) if self.learns(&call, &failed) => {}
                Err(failed) => return Err(failed),
            }
        }
    }

    async fn once(&self, call: &Call<'_>, deltas: Option<&mut Deltas<'_>>) -> Result<Said, Failed> {
        let (path, body) = match self.protocol {
            Protocol::OpenAi => ("/chat/completions", openai::body(call)),
            Protocol::Anthropic => ("/v1/messages", anthropic::body(call)),
            Protocol::Ollama => ("/api/chat", ollama::body(call)),
        };
        let response = wire::send(self.post(path, &body)).await?;
        let answer = match deltas {
            Some(deltas) => self.in_pieces(call, response, deltas).await?,
            None => {
                let body = wire::whole(response).await?;
                match self.protocol {
                    Protocol::OpenAi => openai::whole(&body)?,
                    Protocol::Anthropic => anthropic::whole(call, &body)?,
                    Protocol::Ollama => ollama::whole(&body)?,
                }
            }
        };
        answer.end(call.request.mode)
    }

    async fn in_pieces(&self, call: &Call<'_>, response: Response, deltas: &mut Deltas<'_>) -> Result<Said, Failed> {
        let mut answer = Said::default();
        let chunks = wire::chunks(response);
        match self.protocol {
            Protocol::OpenAi | Protocol::Anthropic => {
                let mut events = std::pin::pin!(wire::events(chunks));
                while let (false, Some(event)) = (answer.complete, events.next().await) {
                    let (data, published) = (event?.data, answer.text.len());
                    if self.protocol == Protocol::OpenAi {
                        openai::part(&mut answer, &data)
                    } else {
                        anthropic::part(call, &mut answer, &data)
                    }?;
                    deltas.push(answer.text.get(published..).unwrap_or_default());
                }
            }
            Protocol::Ollama => {
                let mut lines = std::pin::pin!(wire::lines(chunks));
                while let (false, Some(line)) = (answer.complete, lines.next().await) {
                    let published = answer.text.len();
                    ollama::part(&mut answer, &line?)?;
                    deltas.push(answer.text.get(published..).unwrap_or_default());
                }
            }
        }
        if answer.complete {
            deltas.end();
        }
        Ok(answer)
    }

    /// Makes one embedding call.
    ///
    /// # Errors
    /// The failure if there is no answer, or not one vector per text.
    pub async fn embed(&self, request: &EmbedRequest) -> Result<EmbedReply, Failed> {
        let (path, body) = match self.protocol {
            Protocol::OpenAi => ("/embeddings", openai::embed(&self.model, &request.texts)),
            Protocol::Ollama => ("/api/embed", ollama::embed(&self.model, &request.texts)),
            Protocol::Anthropic => return Err(Failed::unreadable("this provider has no embeddings")),
        };
        let body = wire::whole(wire::send(self.post(path, &body)).await?).await?;
        let vectors = if self.protocol == Protocol::OpenAi { openai::vectors(&body) } else { ollama::vectors(&body) }?;
        if vectors.len() != request.texts.len() {
            return Err(Failed::unreadable(format!("it has {} vectors for {} texts", vectors.len(), request.texts.len())));
        }
        Ok(EmbedReply { vectors })
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let call = self.client.post(format!("{}{path}", self.address)).header("Content-Type", "application/json").body(body.to_string());
        let call = if self.protocol == Protocol::Anthropic { anthropic::versioned(call) } else { call };
        match (&self.key, self.protocol) {
            (Some(Key(key)), Protocol::OpenAi) => openai::sign(call, key),
            (Some(Key(key)), Protocol::Anthropic) => anthropic::sign(call, key),
            (Some(_), Protocol::Ollama) | (None, _) => call,
        }
    }

    fn reply(&self, answer: Said, requested: &str, llm: &Llm) -> LlmReply {
        let price = [Some(requested), answer.model.as_deref()].into_iter().flatten().find_map(|it| llm.prices.get(it));
        let usage = answer.input_tokens.zip(answer.output_tokens).map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
            cost_micros: price.map(|it| it.of(input_tokens, output_tokens)),
        });
        let model = answer.model.unwrap_or_else(|| requested.to_owned());
        LlmReply { text: answer.text, provider: self.protocol.name().to_owned(), model, usage, tool_calls: answer.tool_calls }
    }

    /// Records an unsupported parameter that the model has reported; returns whether a call without it may succeed. The set of such models
    /// changes too often for a list of names.
    fn learns(&self, call: &Call<'_>, failed: &Failed) -> bool {
        let message = failed.error.message.to_lowercase();
        let refused = matches!(failed.error.status, Some(400 | 422));
        let is_unsupported = ["support", "deprecated", "not permitted", "not allowed"].iter().any(|it| message.contains(it));
        if !refused || !is_unsupported {
            return false;
        }
        if self.protocol == Protocol::OpenAi && !call.completion_tokens && message.contains("max_completion_tokens") {
            self.wants_completion_tokens.store(true, Ordering::Relaxed);
            return true;
        }
        if call.temperature.is_some() && message.contains("temperature") {
            self.takes_no_temperature.store(true, Ordering::Relaxed);
            return true;
        }
        false
    }
}
