//! What can go wrong with the answer to an effect.

use std::sync::LazyLock;

use convengine_core::turn::{
    CancelReason, ContainerReply, Effect, EffectClass, EffectError, EffectErrorKind, EffectResult, EmbedReply, ExtensionReply, HttpReply,
    LlmReply, Map, Millis, Patch, Reply, Request, SqlReply, TaskReply, ToolReply,
};
use convengine_server::secrets::Secrets;
use serde_json::{Value, json};

/// Stands in every error message, so that one which reaches a user is found.
pub const SECRET: &str = "sk-live-4f1d0c9a77";

/// The value of a secret, with which services echo what they were sent; the simulated host strikes it out as the server does.
pub const KEY: &str = "vault-key-93b1/e7+40";

/// Milliseconds after which a host gives a turn up, unless it is told otherwise.
pub const LONGEST: Millis = 120_000;

/// Characters of a very long reply.
pub const LONG: usize = 12 * 25_600;

/// Every way in which an effect fails.
pub const KINDS: [EffectErrorKind; 12] = [
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

/// Status codes with which a service refuses, or answers without content.
const STATUSES: [u16; 7] = [204, 302, 401, 404, 429, 500, 503];

/// Answers that arrive and are of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// A reply of another kind than the request.
    OtherKind,
    /// An empty text.
    Nothing,
    /// JSON that ends too early.
    Broken,
    /// A text of 300 KB.
    Long,
    /// JSON of a form that nobody asked for.
    OtherShape,
    /// JSON that is nested deeper than any reader goes.
    Deep,
    /// Marks of templates, quotes, NUL and control characters.
    Marks,
}

const GARBAGE: [Garbage; 7] =
    [Garbage::OtherKind, Garbage::Nothing, Garbage::Broken, Garbage::Long, Garbage::OtherShape, Garbage::Deep, Garbage::Marks];

/// What is done to a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The effect fails.
    Error(EffectErrorKind),
    /// The effect and all after it fail.
    AllFrom(EffectErrorKind),
    /// The answer comes after its deadline: until then the turn waits, and then the host answers in its place.
    Late,
    /// The answer is of no use.
    Garbage(Garbage),
    /// The service answers with this status.
    Status(u16),
    /// The host gives the turn up before the answer is known.
    Abandoned(CancelReason),
    /// The process ends before the answer is known, and another one takes the turn over.
    CrashBefore,
    /// The process ends when the answer has been written down, and another one takes the turn over.
    CrashAfter,
}

impl Fault {
    /// The row of the table in which it is counted.
    pub fn family(self) -> &'static str {
        match self {
            Fault::Error(_) => "error",
            Fault::AllFrom(_) => "all fail",
            Fault::Late => "late",
            Fault::Garbage(_) => "garbage",
            Fault::Status(_) => "status",
            Fault::Abandoned(_) => "abandoned",
            Fault::CrashBefore => "crash before",
            Fault::CrashAfter => "crash after",
        }
    }
}

/// All families, in the order in which they are printed.
pub const FAMILIES: [&str; 8] = ["error", "all fail", "late", "garbage", "status", "abandoned", "crash before", "crash after"];

/// The faults of an effect.
pub fn of_effect(effect: &Effect) -> Vec<Fault> {
    let mut faults: Vec<Fault> = KINDS.into_iter().map(Fault::Error).collect();
    faults.extend([EffectErrorKind::Timeout, EffectErrorKind::Unavailable].map(Fault::AllFrom));
    faults.push(Fault::Late);
    let can_say = |it: &Garbage| *it == Garbage::OtherKind || !matches!(effect.request, Request::Sleep(_));
    faults.extend(GARBAGE.into_iter().filter(can_say).map(Fault::Garbage));
    if matches!(effect.request, Request::Http(_)) {
        faults.extend(STATUSES.map(Fault::Status));
    }
    faults.extend([CancelReason::Timeout, CancelReason::Lost].map(Fault::Abandoned));
    faults.extend([Fault::CrashBefore, Fault::CrashAfter]);
    faults
}

/// Whether a host that finds the effect open after a crash may ask for it again.
pub fn repeatable(effect: &Effect) -> bool {
    effect.repeatable
}

/// Whether an effect changes the world.
pub fn writes(effect: &Effect) -> bool {
    match effect.class {
        EffectClass::Pure | EffectClass::Read => false,
        EffectClass::Write | EffectClass::Irreversible => true,
    }
}

/// What the server leaves of a text that comes back from a service.
fn struck_out(text: &str) -> String {
    static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
        let mut secrets = Secrets::default();
        secrets.add("rates", KEY);
        secrets
    });
    SECRETS.scrub(text).into_owned()
}

/// A failure whose message nobody but the audit may see.
pub fn error(kind: EffectErrorKind) -> EffectResult {
    let text = format!("java.sql.SQLException: select token from vault where key = '{SECRET}' {{{{user_input}}}} Some(\"{SECRET}\") {KEY}");
    EffectResult::Error(EffectError::new(kind, struck_out(&text)))
}

/// What the host answers when the deadline of an effect has passed.
pub fn late(effect: &Effect) -> EffectResult {
    EffectResult::Error(EffectError::new(EffectErrorKind::Timeout, format!("no answer within {} ms", effect.deadline_ms)))
}

/// A service's answer with a status, and a body that names a secret.
pub fn status(status: u16) -> EffectResult {
    let body = if status == 204 { String::new() } else { struck_out(&format!("{{\"detail\": \"{SECRET}\", \"sent\": \"Bearer {KEY}\"}}")) };
    let retry_after_ms = (status == 429).then_some(1_500);
    EffectResult::Ok(Reply::Http(HttpReply { status, body, retry_after_ms, broken_json: false }))
}

/// An answer of no use to a request.
pub fn garbage(request: &Request, garbage: Garbage) -> EffectResult {
    if garbage == Garbage::OtherKind {
        let tool = || Reply::Tool(ToolReply { text: "{}".to_owned() });
        return EffectResult::Ok(if matches!(request, Request::Sleep(_)) { tool() } else { Reply::Slept });
    }
    let text = text(garbage);
    let value = || serde_json::from_str::<Value>(&text).unwrap_or_else(|_| Value::from(text.clone()));
    EffectResult::Ok(match request {
        Request::Llm(_) => {
            Reply::Llm(LlmReply { text, provider: "garbage".to_owned(), model: "garbage".to_owned(), ..LlmReply::default() })
        }
        Request::Embed(request) => Reply::Embed(EmbedReply { vectors: vectors(garbage, request.texts.len()) }),
        Request::Task(_) => Reply::Task(Box::new(task(garbage, value()))),
        Request::Tool(_) => Reply::Tool(ToolReply { text }),
        Request::Container(_) => Reply::Container(ContainerReply { data: value() }),
        Request::Sleep(_) => Reply::Slept,
        Request::Http(_) => Reply::Http(HttpReply { status: 200, body: text, retry_after_ms: None, broken_json: false }),
        Request::Sql(_) => Reply::Sql(SqlReply { rows: rows(value()), truncated: garbage == Garbage::Long }),
        Request::Extension(_) => Reply::Extension(ExtensionReply { message: value() }),
    })
}

/// The text of garbage; the audit may repeat it, and where the text is an answer for the user, so may the answer.
pub fn text(garbage: Garbage) -> String {
    match garbage {
        Garbage::OtherKind | Garbage::Nothing => String::new(),
        Garbage::Broken => r#"{"action": "CALL_TOOL", "act": "AFFIRM", "intent": "#.to_owned(),
        Garbage::Long => "lorem ipsum ".repeat(LONG / 12),
        Garbage::OtherShape => {
            json!([[{"unexpected": [1, null, {"a": -0.0, "act": 7, "intent": ["X"], "tool_code": {"x": 1}}]}], 1e300, true]).to_string()
        }
        Garbage::Deep => format!("{}{}", "[".repeat(400), "]".repeat(400)),
        Garbage::Marks => {
            "{{user_input}} #{1 + 1} ${STUB} [[${x}]] [(${y})] <th:block> ';-- \" \\ ` \u{0}\u{1}\u{8}\u{7f}\u{202e}\u{fffd}\r\n\t"
                .to_owned()
        }
    }
}

fn vectors(garbage: Garbage, texts: usize) -> Vec<Vec<f64>> {
    match garbage {
        Garbage::OtherKind | Garbage::Nothing => Vec::new(),
        Garbage::Broken => vec![Vec::new(); texts],
        Garbage::Long => vec![vec![0.5; 4_096]; texts],
        Garbage::OtherShape => (0..texts + 3).map(|it| vec![1.0; it]).collect(),
        Garbage::Deep => vec![vec![0.0, 0.0, 0.0]; texts],
        Garbage::Marks => vec![vec![f64::MAX, f64::MIN, -0.0]; texts],
    }
}

fn rows(value: Value) -> Vec<Map> {
    let row = |it: Value| Map::from_iter([("column".to_owned(), it)]);
    match value {
        Value::Array(items) => items.into_iter().map(row).collect(),
        Value::String(text) if text.is_empty() => Vec::new(),
        other => vec![row(other)],
    }
}

/// A task may change the session; garbage changes it in ways that no author meant.
fn task(garbage: Garbage, result: Value) -> TaskReply {
    let text = text(garbage);
    let patch = match garbage {
        Garbage::OtherShape => Patch {
            params: Map::from_iter([("policy_decision".to_owned(), json!({"x": 1})), ("dialogue_act".to_owned(), json!(7))]),
            context: Map::from_iter([("pending_action_runtime".to_owned(), json!("none")), ("mcp".to_owned(), json!([1]))]),
            ..Patch::default()
        },
        Garbage::Marks => Patch { state: Some(text.clone()), params: Map::from_iter([(text, Value::Null)]), ..Patch::default() },
        Garbage::OtherKind | Garbage::Nothing | Garbage::Broken | Garbage::Long | Garbage::Deep => Patch::default(),
    };
    TaskReply { result, patch, publish: Vec::new() }
}
