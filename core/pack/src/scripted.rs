//! The scripted model: the first matching rule answers a call. (docs/spec/interface.md#3)
//!
//! A script decides by the request alone, so that a test says what a model would answer to which prompt, and a call that nobody has thought
//! of fails instead of passing unseen.

use std::sync::Arc;

use convengine_text::json;
use convengine_turn::PhraseSearchReply;
use convengine_turn::{
    CircuitBreakers, EffectError, EffectErrorKind, EffectResult, EmbedReply, EmbedRequest, HttpRequest, LlmMode, LlmReply, LlmRequest,
    Millis, Reply, Request, TurnInput,
};
use convengine_understanding::knowledge::PhraseVectors;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fake::Fakes;
use super::knowledge::PackKnowledge;
use super::phrase_vectors::PackPhrases;
use super::script_turn::ScriptTurns;
use super::{Pack, PackError, PackTurn, ScriptedCall};

/// A rule of the scripted model. All its conditions must match, and one without conditions matches every call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptRule {
    /// The purpose of the call.
    pub purpose: Option<String>,
    /// The mode of the call: `text`, `json` or `json_strict`.
    pub kind: Option<String>,
    /// The user message, trimmed.
    pub user_text: Option<String>,
    /// Texts that the prompt must contain.
    pub contains: Vec<String>,
    /// The maximum number of uses.
    pub times: Option<usize>,
    /// The reply.
    pub reply: Option<Value>,
    /// The replies of the first, second, … use; the last one repeats.
    pub replies: Vec<Value>,
    /// The message with which the call fails.
    pub error: Option<String>,
    /// The simulated latency, in milliseconds.
    pub delay_ms: u64,
    /// Members without an effect, for lint.
    #[serde(flatten)]
    pub unknown: convengine_turn::Map,
}

/// A scripted model and the fakes of a pack, with the number of uses of each rule.
///
/// ```
/// use convengine_pack::Scripted;
/// use convengine_turn::{EffectResult, LlmMode, LlmRequest, Reply, Request};
///
/// let mut scripted = Scripted::parse(r#"[
///     {"purpose": "response_text", "contains": ["bakery"], "replies": ["From 6 to 14.", "As I said, from 6 to 14."]},
///     {"error": "the model is down", "delay_ms": 800}
/// ]"#)?;
/// let request = |purpose: &str| {
///     let (purpose, system) = (purpose.to_owned(), "You answer for a bakery.".to_owned());
///     Request::Llm(LlmRequest { purpose, mode: LlmMode::Text, system, ..LlmRequest::for_embedding("Are you open?") })
/// };
/// let text = |answer: EffectResult| match answer {
///     EffectResult::Ok(Reply::Llm(reply)) => reply.text,
///     other => format!("{other:?}"),
/// };
/// assert_eq!(text(scripted.answer(&request("response_text")).0), "From 6 to 14.");
/// assert_eq!(text(scripted.answer(&request("response_text")).0), "As I said, from 6 to 14.");
/// let (failure, delay_ms) = scripted.answer(&request("policy"));
/// assert_eq!(delay_ms, 800);
/// assert!(matches!(failure, EffectResult::Error(error) if error.message == "the model is down"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Scripted {
    rules: Vec<(ScriptRule, usize)>,
    fakes: Fakes,
    /// Shared, because checkpoints copy the script.
    knowledge: Arc<PackKnowledge>,
    phrases: Arc<PackPhrases>,
    turns: ScriptTurns,
    breakers: CircuitBreakers,
    /// The total latency of all answers, in milliseconds. Independent of the clock of the pack: turns run back to back, as over HTTP.
    elapsed: Millis,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ScriptFile {
    Rules(Vec<ScriptRule>),
    Pack {
        #[serde(default)]
        llm: Vec<ScriptRule>,
        #[serde(default)]
        turns: Vec<PackTurn>,
    },
}

impl Scripted {
    /// Creates a model with rules.
    pub fn new(rules: Vec<ScriptRule>) -> Scripted {
        Scripted { rules: rules.into_iter().map(|it| (it, 0)).collect(), ..Scripted::default() }
    }

    /// Creates the model of a pack with its fakes; answers of turns take precedence. It indexes the knowledge of the pack, so create it
    /// once and clone it for each conversation that should begin with unused rules.
    pub fn from_pack(pack: &Pack) -> Scripted {
        Scripted {
            fakes: Fakes::from_pack(pack),
            knowledge: Arc::new(PackKnowledge::from_pack(pack)),
            phrases: Arc::new(PackPhrases::from_pack(pack)),
            turns: ScriptTurns::new(&pack.turns),
            ..Scripted::new(pack.llm.clone())
        }
    }

    /// Parses a list of rules, or a pack with rules.
    ///
    /// # Errors
    /// [`PackError`] if the text is neither.
    pub fn parse(text: &str) -> Result<Scripted, PackError> {
        match json::decode_text::<ScriptFile>(text) {
            Ok(ScriptFile::Rules(llm)) => Ok(Scripted::new(llm)),
            Ok(ScriptFile::Pack { llm, turns }) => Ok(Scripted { turns: ScriptTurns::new(&turns), ..Scripted::new(llm) }),
            Err(error) => Err(PackError::invalid_pack(format!("expected a list of rules or a pack with a list 'llm': {error}"))),
        }
    }

    /// Starts a turn with its own answers. Returns its time if the pack sets one. Call it before each turn: an input that is not in the
    /// pack gets no answers of a turn, only those of rules.
    pub fn begin_turn(&mut self, input: &TurnInput) -> Option<Millis> {
        self.turns.begin_turn(input)
    }

    /// Returns the next answer of the current turn and its latency in milliseconds.
    pub fn answer_from_turn(&mut self, request: &Request) -> Option<(EffectResult, u64)> {
        let answer = self.turns.take_answer(&ScriptedCall::from_request(request)?)?;
        Some((answer.to_answer(request), answer.delay_ms))
    }

    /// Whether a request has a scripted answer, which may be a failure.
    pub fn has_answer(&self, request: &Request) -> bool {
        if ScriptedCall::from_request(request).is_some_and(|it| self.turns.has_answer(&it)) {
            return true;
        }
        let of_llm = |request: &LlmRequest| {
            let prompt = request.prompt();
            self.rules.iter().any(|(rule, uses)| rule.matches(*uses, request, &prompt))
        };
        match request {
            Request::Llm(request) => of_llm(request),
            Request::Embed(request) => request.texts.iter().all(|text| of_llm(&LlmRequest::for_embedding(text))),
            Request::Sleep(_) => true,
            Request::Knowledge(request) => self.knowledge.has_base(&request.assistant),
            Request::Extension(_) => false,
            Request::Script(_) => false,
            Request::PhraseSearch(request) => {
                self.phrases.find(&request.classifier).is_some() && of_llm(&LlmRequest::for_embedding(&request.text))
            }
            Request::Task(_) | Request::Tool(_) | Request::Container(_) | Request::Http(_) | Request::Sql(_) => {
                self.fakes.has_answer(request)
            }
        }
    }

    /// Answers a request. Also returns the latency in milliseconds, which a host adds to the time of the completion or waits for.
    ///
    /// Extensions, scripts, and services outside of the pack fail as [`Unsupported`](EffectErrorKind::Unsupported). A call of a model
    /// without a matching rule fails as [`Unavailable`](EffectErrorKind::Unavailable), with its purpose and message.
    pub fn answer(&mut self, request: &Request) -> (EffectResult, u64) {
        let (answer, delay_ms) = match self.answer_from_turn(request) {
            Some(bound) => bound,
            None => self.answer_from_rules(request),
        };
        self.elapsed = self.elapsed.saturating_add(Millis::try_from(delay_ms).unwrap_or(Millis::MAX));
        (answer, delay_ms)
    }

    fn answer_from_rules(&mut self, request: &Request) -> (EffectResult, u64) {
        let unsupported = |reason: &str| EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, reason));
        match request {
            Request::Llm(request) => self.answer_llm(request),
            Request::Embed(request) => (self.embed(request), 0),
            Request::Task(request) => (self.fakes.answer_task(request), 0),
            Request::Tool(request) => (self.fakes.answer_tool(request), 0),
            Request::Container(request) => (self.fakes.answer_container(request), 0),
            Request::Sleep(request) => (EffectResult::Ok(Reply::Slept), request.ms.into()),
            Request::Http(request) => (self.answer_http(request), 0),
            Request::Sql(request) => (self.fakes.answer_sql(request).unwrap_or_else(|| unsupported("no database is available here")), 0),
            Request::Extension(_) => (unsupported("extensions need a host"), 0),
            Request::Knowledge(request) => (self.search_knowledge(request), 0),
            Request::Script(_) => (unsupported("scripts need an interpreter"), 0),
            Request::PhraseSearch(request) => (self.search_phrases(request), 0),
        }
    }

    /// Searches the knowledge base of the pack; by vectors too if rules of the purpose `embed` answer for all texts.
    fn search_knowledge(&mut self, request: &convengine_turn::KnowledgeRequest) -> EffectResult {
        let knowledge = Arc::clone(&self.knowledge);
        let reply = knowledge.search(request, |texts| {
            if !self.has_embeddings() {
                return None;
            }
            self.embed_single(texts).ok()
        });
        EffectResult::Ok(Reply::Knowledge(Box::new(reply)))
    }

    /// Compares a text with the phrases of the pack.
    fn search_phrases(&mut self, request: &convengine_turn::PhraseSearchRequest) -> EffectResult {
        let phrases = Arc::clone(&self.phrases);
        let Some((intents, texts)) = phrases.find(&request.classifier) else {
            return EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, "the phrases are not embedded"));
        };
        let vectors = self.embed_single(texts.clone()).and_then(|vectors| Ok((vectors, self.embed_single(vec![request.text.clone()])?)));
        match vectors {
            Ok((vectors, text)) => {
                let vectors = PhraseVectors::new(intents.iter().cloned(), vectors);
                EffectResult::Ok(Reply::PhraseSearch(PhraseSearchReply::from_vectors(&vectors, text.first().map_or(&[], Vec::as_slice))))
            }
            Err(error) => EffectResult::Error(error),
        }
    }

    /// Embeds texts in single precision.
    fn embed_single(&mut self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EffectError> {
        match self.embed(&EmbedRequest { texts }) {
            EffectResult::Ok(Reply::Embed(reply)) => {
                #[allow(clippy::cast_possible_truncation, reason = "embeddings have single precision")]
                let single = |vector: Vec<f64>| vector.into_iter().map(|component| component as f32).collect();
                Ok(reply.vectors.into_iter().map(single).collect())
            }
            EffectResult::Ok(_) => Ok(Vec::new()),
            EffectResult::Error(error) => Err(error),
        }
    }

    fn answer_http(&mut self, request: &HttpRequest) -> EffectResult {
        let admission = match self.breakers.acquire(request, self.elapsed) {
            Ok(admission) => admission,
            Err(open) => return EffectResult::Error(open),
        };
        let outside =
            || EffectError::new(EffectErrorKind::Unsupported, "the service is outside of the pack, which answers for ${STUB} alone");
        let answer = self.fakes.answer_http(request).unwrap_or_else(|| EffectResult::Error(outside()));
        self.breakers.release(admission, request, Some(&answer), self.elapsed);
        answer
    }

    /// Whether a rule has the purpose `embed`.
    pub fn has_embeddings(&self) -> bool {
        self.rules.iter().any(|rule| rule.0.purpose.as_deref() == Some("embed"))
    }

    /// Embeds each text with the first matching rule of the purpose `embed`, whose reply is the vector. One text without a rule fails the
    /// call.
    pub fn embed(&mut self, request: &EmbedRequest) -> EffectResult {
        let mut vectors = Vec::with_capacity(request.texts.len());
        for text in &request.texts {
            let of_text = LlmRequest::for_embedding(text);
            let (EffectResult::Ok(Reply::Llm(reply)), _) = self.answer_llm(&of_text) else {
                let message = format!("no scripted rule embeds '{text}'");
                return EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, message));
            };
            match serde_json::from_str(&reply.text) {
                Ok(vector) => vectors.push(vector),
                Err(error) => return EffectResult::Error(EffectError::new(EffectErrorKind::Invalid, error.to_string())),
            }
        }
        EffectResult::Ok(Reply::Embed(EmbedReply { vectors, usage: None }))
    }

    /// Answers a model call. Also returns the latency in milliseconds.
    pub fn answer_llm(&mut self, request: &LlmRequest) -> (EffectResult, u64) {
        let prompt = request.prompt();
        let Some((rule, uses)) = self.rules.iter_mut().find(|(rule, uses)| rule.matches(*uses, request, &prompt)) else {
            let message = format!("no scripted rule answers this call (purpose {}, message '{}')", request.purpose, request.user_text);
            return (EffectResult::Error(EffectError::new(EffectErrorKind::Unavailable, message)), 0);
        };
        *uses += 1;
        let answer = match &rule.error {
            Some(error) => EffectResult::Error(EffectError::new(EffectErrorKind::Unavailable, error.clone())),
            None => model_answer(&request.purpose, rule.reply_for_use(*uses)),
        };
        (answer, rule.delay_ms)
    }
}

impl ScriptRule {
    fn matches(&self, uses: usize, request: &LlmRequest, prompt: &str) -> bool {
        let kind = match request.mode {
            LlmMode::Text => "text",
            LlmMode::Json => "json",
            LlmMode::JsonStrict => "json_strict",
        };
        let is_equal = |expected: &Option<String>, actual: &str| expected.as_deref().is_none_or(|expected| expected == actual);
        is_equal(&self.purpose, &request.purpose)
            && is_equal(&self.kind, kind)
            && self.user_text.as_deref().is_none_or(|expected| expected.trim() == request.user_text)
            && self.contains.iter().all(|part| prompt.contains(part.as_str()))
            && self.times.is_none_or(|it| uses < it)
    }

    fn reply_for_use(&self, use_number: usize) -> Option<&Value> {
        let nth = self.replies.get(use_number - 1).or_else(|| self.replies.last());
        self.reply.as_ref().or(nth)
    }
}

/// Converts a scripted reply to the answer of a model call.
pub(super) fn model_answer(purpose: &str, scripted: Option<&Value>) -> EffectResult {
    let reply = match scripted {
        None => Some(LlmReply::from_script(String::new())),
        Some(reply) if purpose == "agent" => LlmReply::from_agent_script(reply),
        Some(Value::String(text)) => Some(LlmReply::from_script(text.clone())),
        Some(other) => Some(LlmReply::from_script(other.to_string())),
    };
    let invalid = || EffectError::new(EffectErrorKind::Invalid, "the reply is neither a string nor a list of 'tool_calls'");
    reply.map_or_else(|| EffectResult::Error(invalid()), |reply| EffectResult::Ok(Reply::Llm(reply)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call_model(model: &mut Scripted, text: &str) -> EffectResult {
        let request = LlmRequest {
            purpose: "dialogue_act".to_owned(),
            mode: LlmMode::Json,
            system: "label it".to_owned(),
            user: format!("message: {text}"),
            hint: None,
            schema: None,
            context: json!({}),
            user_text: text.trim().to_owned(),
            dialogue: None,
        };
        model.answer_llm(&request).0
    }

    fn text_answer(text: &str) -> EffectResult {
        EffectResult::Ok(Reply::Llm(LlmReply::from_script(text.to_owned())))
    }

    #[test]
    fn the_first_matching_rule_answers() {
        let rules = json!([
            {"purpose": "policy", "reply": "no"},
            {"user_text": " hi ", "times": 1, "reply": {"b": 1, "a": 2.0}},
            {"contains": ["label", "message: hi"], "replies": ["one", "two"]},
            {"kind": "json", "error": "down"}
        ]);
        let mut model = Scripted::parse(&rules.to_string()).unwrap();
        let answers: Vec<EffectResult> = (0..4).map(|_| call_model(&mut model, "hi")).collect();
        assert_eq!(answers, [text_answer(r#"{"b":1,"a":2.0}"#), text_answer("one"), text_answer("two"), text_answer("two")]);
        assert!(matches!(call_model(&mut model, "bye"), EffectResult::Error(error) if error.message == "down"));
    }

    #[test]
    fn an_agent_is_answered_with_a_text_or_with_calls() {
        let answer = |reply: Value| model_answer("agent", Some(&reply));
        assert_eq!(answer(json!("hi")), text_answer("hi"));
        let calls = json!({"text": "One moment.", "tool_calls": [{"id": "a", "name": "t", "arguments": {"n": 1}}, {"name": "u"}]});
        let EffectResult::Ok(Reply::Llm(model_reply)) = answer(calls) else { unreachable!("the reply is valid") };
        assert_eq!((model_reply.text.as_str(), model_reply.tool_calls.len()), ("One moment.", 2));
        assert_eq!(serde_json::to_value(&model_reply.tool_calls).unwrap()[1], json!({"id": "", "name": "u", "arguments": {}}));
        for invalid in
            [json!({"text": "hi"}), json!([]), json!(1), json!({"tool_calls": [{"id": "a"}]}), json!({"tool_calls": [], "text": 1})]
        {
            assert!(matches!(answer(invalid), EffectResult::Error(error) if error.kind == EffectErrorKind::Invalid));
        }
        assert_eq!(model_answer("policy", Some(&json!({"a": 1}))), text_answer("{\"a\":1}"));
    }
}
