//! The requests of effects: one variant and one file per kind. A host is complete when its `match` compiles.
//!
//! A request is what the configuration says, rendered: nothing in it has to be looked up but secrets, by their names. A host that lacks
//! a kind answers [`Unsupported`](crate::EffectErrorKind::Unsupported).

/// Implements [`Operation`](crate::Operation) for a request of which class and deadline are all that there is to say.
macro_rules! operation {
    ($variant:ident: $request:ident => Box<$reply:ident>, class: $class:expr, deadline_ms: $deadline_ms:expr) => {
        operation!($variant: $request => $reply, $class, $deadline_ms, |reply| *reply);
    };
    ($variant:ident: $request:ident => $reply:ident, class: $class:expr, deadline_ms: $deadline_ms:expr) => {
        operation!($variant: $request => $reply, $class, $deadline_ms, |reply| reply);
    };
    ($variant:ident: $request:ident => $reply:ident, $class:expr, $deadline_ms:expr, |$content:ident| $output:expr) => {
        impl From<$request> for crate::Request {
            fn from(request: $request) -> Self {
                crate::Request::$variant(request.into())
            }
        }

        impl crate::Operation for $request {
            type Output = $reply;

            fn class(&self) -> crate::EffectClass {
                $class
            }

            fn deadline_ms(&self) -> u32 {
                let deadline_ms: fn(&Self) -> u32 = $deadline_ms;
                deadline_ms(self)
            }

            fn extract_output(reply: crate::Reply) -> Option<$reply> {
                if let crate::Reply::$variant($content) = reply { Some($output) } else { None }
            }
        }
    };
}

mod container;
mod dialogue;
mod embed;
mod extension;
mod http;
mod knowledge;
mod llm;
mod operation;
mod phrase_search;
mod result;
mod script;
mod sleep;
mod sql;
mod task;
mod tool;

pub use container::{ContainerReply, ContainerRequest};
pub use dialogue::{LlmDialogue, LlmMessage, LlmRole, LlmTool, LlmToolCall};
pub use embed::{EmbedReply, EmbedRequest};
pub use extension::{ExtensionReply, ExtensionRequest};
pub use http::{BreakerPolicy, HttpCaller, HttpReply, HttpRequest, RetryConditions, STUB_ADDRESS, SecretHeader};
pub use knowledge::{KNOWLEDGE_LIST_DEPTH, KnowledgeReply, KnowledgeRequest, Passage, VectorHit};
pub use llm::{LLM_PURPOSES, LlmMode, LlmReply, LlmRequest, Usage};
pub use operation::{EffectClass, Operation};
pub use phrase_search::{IntentSimilarity, PHRASE_SEARCH_DEPTH, PhraseSearchReply, PhraseSearchRequest};
pub use result::EffectResult;
pub use script::{MAX_SCRIPT_TIMEOUT_MS, ScriptFailure, ScriptLimits, ScriptReply, ScriptRequest};
pub use sleep::SleepRequest;
pub use sql::{SqlReply, SqlRequest};
pub use task::{Patch, TaskContainer, TaskProgress, TaskReply, TaskRequest, TaskUse};
pub use tool::{MCP_GROUP, ToolReply, ToolRequest};

use serde::{Deserialize, Serialize};

/// The payload of an effect. Variants are only ever added.
///
/// ```
/// use convengine_turn::{EffectError, EffectErrorKind, EffectResult, LlmReply, Reply, Request};
///
/// /// A host with a model and a clock. One that wants to learn of new kinds lists them all instead of `_`.
/// fn perform(request: &Request) -> EffectResult {
///     match request {
///         Request::Llm(call) => {
///             let text = format!("an answer for the purpose {}", call.purpose);
///             EffectResult::Ok(Reply::Llm(LlmReply { text, ..LlmReply::default() }))
///         }
///         Request::Sleep(_) => EffectResult::Ok(Reply::Slept),
///         _ => EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, "this host calls models only")),
///     }
/// }
///
/// let request: Request = serde_json::from_str(r#"{"kind": "embed", "texts": ["hello"]}"#)?;
/// let EffectResult::Error(error) = perform(&request) else { panic!("it has no embeddings") };
/// assert_eq!(error.kind, EffectErrorKind::Unsupported);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Request {
    /// A call of a language model.
    Llm(LlmRequest),
    /// Embeddings of texts.
    Embed(EmbedRequest),
    /// A task that runs in the host.
    Task(TaskRequest),
    /// A tool.
    Tool(ToolRequest),
    /// Data of a container.
    Container(ContainerRequest),
    /// A short wait.
    Sleep(SleepRequest),
    /// A call of an HTTP service.
    Http(Box<HttpRequest>),
    /// A query of a database.
    Sql(SqlRequest),
    /// A call of an extension.
    Extension(ExtensionRequest),
    /// A search of the knowledge base.
    Knowledge(KnowledgeRequest),
    /// A run of a script.
    Script(Box<ScriptRequest>),
    /// A comparison of a message with the phrases of intents.
    PhraseSearch(PhraseSearchRequest),
}

/// The payload of a success. Variants are only ever added. A reply of another kind than the request fails the effect with
/// [`Mismatch`](crate::EffectErrorKind::Mismatch).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    /// The text of a language model.
    Llm(LlmReply),
    /// Vectors.
    Embed(EmbedReply),
    /// A task's result and changes.
    Task(Box<TaskReply>),
    /// A tool's result.
    Tool(ToolReply),
    /// The data of a container.
    Container(ContainerReply),
    /// The wait is over.
    Slept,
    /// An HTTP response.
    Http(HttpReply),
    /// Rows.
    Sql(SqlReply),
    /// The last message of an extension.
    Extension(ExtensionReply),
    /// Chunks of the knowledge base.
    Knowledge(Box<KnowledgeReply>),
    /// What a script did.
    Script(Box<ScriptReply>),
    /// Intents with similar phrases.
    PhraseSearch(PhraseSearchReply),
}
