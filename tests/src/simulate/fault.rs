//! The faults: everything that can go wrong with the answer to an effect.

use std::sync::LazyLock;

use convengine_core::knowledge::{CollectionStats, KeywordCandidate};
use convengine_core::turn::{
    CancelReason, ContainerReply, Effect, EffectClass, EffectError, EffectErrorKind, EffectResult, EmbedReply, ExtensionReply, HttpReply,
    IntentSimilarity, KnowledgeReply, LlmReply, Map, Millis, Passage, Patch, PhraseSearchReply, Reply, Request, ScriptReply, SqlReply,
    TaskReply, ToolReply, VectorHit,
};
use convengine_settings::secrets::Secrets;
use serde_json::{Value, json};

/// A text in every error message, which reveals a message that reaches a user.
pub const SECRET: &str = "sk-live-4f1d0c9a77";

/// The value of a secret that services echo; the simulated host redacts it as the server does.
pub const KEY: &str = "vault-key-93b1/e7+40";

/// The default turn timeout of a host, in milliseconds.
pub const TURN_TIMEOUT_MS: Millis = 120_000;

/// The number of characters of a very long reply.
pub const LONG_CHARS: usize = 12 * 25_600;

/// All kinds of effect errors.
pub const ERROR_KINDS: [EffectErrorKind; 12] = [
    EffectErrorKind::Timeout,
    EffectErrorKind::Unavailable,
    EffectErrorKind::Refused,
    EffectErrorKind::Invalid,
    EffectErrorKind::NotFound,
    EffectErrorKind::Denied,
    EffectErrorKind::CircuitOpen,
    EffectErrorKind::Limited,
    EffectErrorKind::Unsupported,
    EffectErrorKind::Interrupted,
    EffectErrorKind::Cancelled,
    EffectErrorKind::Mismatch,
];

/// Status codes of a service that rejects a request or answers without content.
const STATUSES: [u16; 7] = [204, 302, 401, 404, 429, 500, 503];

/// A reply that arrives but is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// A reply of another kind than the request.
    OtherKind,
    /// An empty text.
    Empty,
    /// Truncated JSON.
    Truncated,
    /// A text of 300 KB.
    Long,
    /// JSON of an unexpected shape.
    OtherShape,
    /// JSON nested deeper than any reader's limit.
    Deep,
    /// Template syntax, quotes, NUL and control characters.
    SpecialCharacters,
}

const GARBAGE: [Garbage; 7] =
    [Garbage::OtherKind, Garbage::Empty, Garbage::Truncated, Garbage::Long, Garbage::OtherShape, Garbage::Deep, Garbage::SpecialCharacters];

/// A fault injected into a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The effect fails.
    Error(EffectErrorKind),
    /// The effect and all effects after it fail.
    AllFrom(EffectErrorKind),
    /// No answer arrives before the deadline, so the host completes the effect with a timeout.
    Late,
    /// The answer is unusable.
    Garbage(Garbage),
    /// The service answers with this status.
    Status(u16),
    /// The host cancels the turn before the answer is known.
    Canceled(CancelReason),
    /// The process ends before the answer is known, and another process restores the turn.
    CrashBefore,
    /// The process ends after the answer was stored, and another process restores the turn.
    CrashAfter,
}

impl Fault {
    /// Returns the row of the table in which the fault is counted.
    pub fn family(self) -> &'static str {
        match self {
            Fault::Error(_) => "error",
            Fault::AllFrom(_) => "all fail",
            Fault::Late => "late",
            Fault::Garbage(_) => "garbage",
            Fault::Status(_) => "status",
            Fault::Canceled(_) => "canceled",
            Fault::CrashBefore => "crash before",
            Fault::CrashAfter => "crash after",
        }
    }
}

/// All families, in print order.
pub const FAMILIES: [&str; 8] = ["error", "all fail", "late", "garbage", "status", "canceled", "crash before", "crash after"];

/// Returns the faults that apply to an effect.
pub fn faults_for(effect: &Effect) -> Vec<Fault> {
    let mut faults: Vec<Fault> = ERROR_KINDS.into_iter().map(Fault::Error).collect();
    faults.extend([EffectErrorKind::Timeout, EffectErrorKind::Unavailable].map(Fault::AllFrom));
    faults.push(Fault::Late);
    let is_possible = |garbage: &Garbage| *garbage == Garbage::OtherKind || !matches!(effect.request, Request::Sleep(_));
    faults.extend(GARBAGE.into_iter().filter(is_possible).map(Fault::Garbage));
    if matches!(effect.request, Request::Http(_)) {
        faults.extend(STATUSES.map(Fault::Status));
    }
    faults.extend([CancelReason::Timeout, CancelReason::Lost].map(Fault::Canceled));
    faults.extend([Fault::CrashBefore, Fault::CrashAfter]);
    faults
}

/// Returns whether a host that finds the effect open after a crash may perform it again.
pub fn is_repeatable(effect: &Effect) -> bool {
    effect.repeatable
}

/// Returns whether an effect has side effects.
pub fn has_side_effects(effect: &Effect) -> bool {
    match effect.class {
        EffectClass::Pure | EffectClass::Read => false,
        EffectClass::Write | EffectClass::Irreversible => true,
    }
}

/// Redacts secrets in the response of a service, as the server does.
fn redact(text: &str) -> String {
    static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
        let mut secrets = Secrets::default();
        secrets.add("rates", KEY);
        secrets
    });
    SECRETS.scrub(text).into_owned()
}

/// Returns an error whose message may appear in the audit only.
pub fn error_result(kind: EffectErrorKind) -> EffectResult {
    let text = format!("java.sql.SQLException: select token from vault where key = '{SECRET}' {{{{user_input}}}} Some(\"{SECRET}\") {KEY}");
    EffectResult::Error(EffectError::new(kind, redact(&text)))
}

/// Returns the host's answer after the deadline of an effect.
pub fn timeout_result(effect: &Effect) -> EffectResult {
    EffectResult::Error(EffectError::new(EffectErrorKind::Timeout, format!("no answer within {} ms", effect.deadline_ms)))
}

/// Returns a service's answer with a status, and a body that contains a secret.
pub fn status_result(status: u16) -> EffectResult {
    let body = if status == 204 { String::new() } else { redact(&format!("{{\"detail\": \"{SECRET}\", \"sent\": \"Bearer {KEY}\"}}")) };
    let retry_after_ms = (status == 429).then_some(1_500);
    EffectResult::Ok(Reply::Http(HttpReply { status, body, retry_after_ms, broken_json: false }))
}

/// Returns an unusable answer to a request.
pub fn garbage_result(request: &Request, garbage: Garbage) -> EffectResult {
    if garbage == Garbage::OtherKind {
        let tool = || Reply::Tool(ToolReply { text: "{}".to_owned() });
        return EffectResult::Ok(if matches!(request, Request::Sleep(_)) { tool() } else { Reply::Slept });
    }
    let text = garbage_text(garbage);
    let value = || serde_json::from_str::<Value>(&text).unwrap_or_else(|_| Value::from(text.clone()));
    EffectResult::Ok(match request {
        Request::Llm(_) => {
            Reply::Llm(LlmReply { text, provider: "garbage".to_owned(), model: "garbage".to_owned(), ..LlmReply::default() })
        }
        Request::Embed(request) => Reply::Embed(EmbedReply { vectors: garbage_vectors(garbage, request.texts.len()), usage: None }),
        Request::Task(_) => Reply::Task(Box::new(garbage_task(garbage, value()))),
        Request::Tool(_) => Reply::Tool(ToolReply { text }),
        Request::Container(_) => Reply::Container(ContainerReply { data: value() }),
        Request::Sleep(_) => Reply::Slept,
        Request::Http(_) => Reply::Http(HttpReply { status: 200, body: text, retry_after_ms: None, broken_json: false }),
        Request::Sql(_) => Reply::Sql(SqlReply { rows: garbage_rows(value()), truncated: garbage == Garbage::Long }),
        Request::Extension(_) => Reply::Extension(ExtensionReply { message: value() }),
        Request::Knowledge(_) => Reply::Knowledge(Box::new(garbage_knowledge(garbage, text))),
        Request::Script(_) => Reply::Script(Box::new(garbage_script(text))),
        Request::PhraseSearch(_) => Reply::PhraseSearch(garbage_similarities(garbage, text)),
    })
}

/// Returns a search result that contradicts itself.
fn garbage_knowledge(garbage: Garbage, text: String) -> KnowledgeReply {
    let passage = Passage { chunk: "known#1".to_owned(), source: "known".to_owned(), title: text.clone(), url: None, text };
    let hit = |chunk: &str| KeywordCandidate { chunk: chunk.to_owned(), length: 0, counts: vec![u32::MAX; 3] };
    let vector = VectorHit { chunk: "known#1".to_owned(), score: if garbage == Garbage::Long { 1e300 } else { -7.0 } };
    let stats = CollectionStats { chunks: 0, total_length: u64::MAX, frequencies: vec![u64::MAX] };
    let keyword = vec![hit("known#1"), hit("lost#9"), hit("known#1")];
    KnowledgeReply { stats, keyword, vector: vec![vector], passages: vec![passage], ..KnowledgeReply::default() }
}

/// Returns intents that do not exist, with similarities that are none.
fn garbage_similarities(garbage: Garbage, text: String) -> PhraseSearchReply {
    let similarity = if garbage == Garbage::Long { 1e300 } else { -7.0 };
    PhraseSearchReply {
        intents: vec![IntentSimilarity { intent: text.clone(), similarity }, IntentSimilarity { intent: text, similarity }],
        usage: None,
    }
}

/// Returns a script's output with names and values that no script may write.
fn garbage_script(text: String) -> ScriptReply {
    let changed = Map::from_iter([("_error".to_owned(), Value::from(text.clone())), (text.clone(), Value::Null)]);
    ScriptReply { changed, branch: Some(text.clone()), message: Some(text), ..ScriptReply::default() }
}

/// Returns the text of an unusable answer. The audit may repeat it, and so may the reply if the text is an answer for the user.
pub fn garbage_text(garbage: Garbage) -> String {
    match garbage {
        Garbage::OtherKind | Garbage::Empty => String::new(),
        Garbage::Truncated => r#"{"action": "CALL_TOOL", "act": "AFFIRM", "intent": "#.to_owned(),
        Garbage::Long => "lorem ipsum ".repeat(LONG_CHARS / 12),
        Garbage::OtherShape => {
            json!([[{"unexpected": [1, null, {"a": -0.0, "act": 7, "intent": ["X"], "tool_code": {"x": 1}}]}], 1e300, true]).to_string()
        }
        Garbage::Deep => format!("{}{}", "[".repeat(400), "]".repeat(400)),
        Garbage::SpecialCharacters => {
            "{{user_input}} #{1 + 1} ${STUB} [[${x}]] [(${y})] <th:block> ';-- \" \\ ` \u{0}\u{1}\u{8}\u{7f}\u{202e}\u{fffd}\r\n\t"
                .to_owned()
        }
    }
}

fn garbage_vectors(garbage: Garbage, texts: usize) -> Vec<Vec<f64>> {
    match garbage {
        Garbage::OtherKind | Garbage::Empty => Vec::new(),
        Garbage::Truncated => vec![Vec::new(); texts],
        Garbage::Long => vec![vec![0.5; 4_096]; texts],
        Garbage::OtherShape => (0..texts + 3).map(|it| vec![1.0; it]).collect(),
        Garbage::Deep => vec![vec![0.0, 0.0, 0.0]; texts],
        Garbage::SpecialCharacters => vec![vec![f64::MAX, f64::MIN, -0.0]; texts],
    }
}

fn garbage_rows(value: Value) -> Vec<Map> {
    let row = |cell: Value| Map::from_iter([("column".to_owned(), cell)]);
    match value {
        Value::Array(items) => items.into_iter().map(row).collect(),
        Value::String(text) if text.is_empty() => Vec::new(),
        other => vec![row(other)],
    }
}

/// Returns a task's reply with unexpected changes of the session.
fn garbage_task(garbage: Garbage, result: Value) -> TaskReply {
    let text = garbage_text(garbage);
    let patch = match garbage {
        Garbage::OtherShape => Patch {
            params: Map::from_iter([("policy_decision".to_owned(), json!({"x": 1})), ("dialogue_act".to_owned(), json!(7))]),
            context: Map::from_iter([("pending_action_runtime".to_owned(), json!("none")), ("mcp".to_owned(), json!([1]))]),
            ..Patch::default()
        },
        Garbage::SpecialCharacters => {
            Patch { state: Some(text.clone()), params: Map::from_iter([(text, Value::Null)]), ..Patch::default() }
        }
        Garbage::OtherKind | Garbage::Empty | Garbage::Truncated | Garbage::Long | Garbage::Deep => Patch::default(),
    };
    TaskReply { result, patch, publish: Vec::new() }
}
