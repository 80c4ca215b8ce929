//! A model behind an HTTP address.

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

/// How a model is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
    /// Chat of Ollama.
    Ollama,
}

/// Providers as documents and `--llm` name them.
pub const PROVIDERS: [&str; 3] = ["openai", "anthropic", "ollama"];

/// A model, and what was learned about it.
#[derive(Debug)]
pub struct Remote {
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Its name with its provider.
    pub model: String,
    /// Where it is, without a slash at the end.
    pub address: String,
    /// What to sign in with.
    pub key: Option<Key>,
    /// The way there.
    pub client: Client,
    /// Whether it has refused a temperature.
    pub takes_no_temperature: AtomicBool,
    /// Whether it wants the limit of tokens by its newer name.
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
    /// Provider and model, as `--llm` names them.
    pub fn name(&self) -> String {
        format!("{}:{}", self.protocol.name(), self.model)
    }

    /// Asks once, the model that is named or its own, and shows the pieces of the answer when there is somebody to show them to.
    ///
    /// # Errors
    /// There is no answer, or not the whole of it.
    pub async fn ask(
        &self,
        request: &LlmRequest,
        named: Option<&str>,
        llm: &Llm,
        mut deltas: Option<&mut Deltas<'_>>,
    ) -> Result<LlmReply, Failed> {
        let model = named.unwrap_or(&self.model);
        // Models of the server's own have their price since its start.
        if named.is_some() && llm.cap.is_some() && !llm.prices.contains_key(model) {
            return Err(Failed::unpriced(model));
        }
        let wanted = request.dialogue.as_ref().and_then(|it| it.temperature).or(llm.temperature);
        loop {
            let call = Call {
                request,
                model,
                max_tokens: llm.max_tokens,
                temperature: wanted.filter(|_| !self.takes_no_temperature.load(Ordering::Relaxed)),
                completion_tokens: self.wants_completion_tokens.load(Ordering::Relaxed),
                stream: deltas.is_some(),
            };
            match self.once(&call, deltas.as_deref_mut()).await {
                Ok(said) => return Ok(self.reply(said, model, llm)),
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
        let said = match deltas {
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
        said.end(call.request.mode)
    }

    async fn in_pieces(&self, call: &Call<'_>, response: Response, deltas: &mut Deltas<'_>) -> Result<Said, Failed> {
        let mut said = Said::default();
        let chunks = wire::chunks(response);
        match self.protocol {
            Protocol::OpenAi | Protocol::Anthropic => {
                let mut events = std::pin::pin!(wire::events(chunks));
                while let (false, Some(event)) = (said.complete, events.next().await) {
                    let (data, shown) = (event?.data, said.text.len());
                    if self.protocol == Protocol::OpenAi {
                        openai::part(&mut said, &data)
                    } else {
                        anthropic::part(call, &mut said, &data)
                    }?;
                    deltas.push(said.text.get(shown..).unwrap_or_default());
                }
            }
            Protocol::Ollama => {
                let mut lines = std::pin::pin!(wire::lines(chunks));
                while let (false, Some(line)) = (said.complete, lines.next().await) {
                    let shown = said.text.len();
                    ollama::part(&mut said, &line?)?;
                    deltas.push(said.text.get(shown..).unwrap_or_default());
                }
            }
        }
        if said.complete {
            deltas.end();
        }
        Ok(said)
    }

    /// Asks once for embeddings.
    ///
    /// # Errors
    /// There is no answer, or not one vector a text.
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

    fn reply(&self, said: Said, asked: &str, llm: &Llm) -> LlmReply {
        let price = [Some(asked), said.model.as_deref()].into_iter().flatten().find_map(|it| llm.prices.get(it));
        let usage = said.input_tokens.zip(said.output_tokens).map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
            cost_micros: price.map(|it| it.of(input_tokens, output_tokens)),
        });
        let model = said.model.unwrap_or_else(|| asked.to_owned());
        LlmReply { text: said.text, provider: self.protocol.name().to_owned(), model, usage, tool_calls: said.tool_calls }
    }

    /// Whether a refusal says that the model takes less than others, so that it is worth asking in another way. Which models those
    /// are changes too often for a list of names.
    fn learns(&self, call: &Call<'_>, failed: &Failed) -> bool {
        let message = failed.error.message.to_lowercase();
        let refused = matches!(failed.error.status, Some(400 | 422));
        let unwanted = ["support", "deprecated", "not permitted", "not allowed"].iter().any(|it| message.contains(it));
        if !refused || !unwanted {
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
