//! The conversation engine: a turn is a pure function of its journal.
//!
//! No sockets, files, clock, randomness, threads or logging: a turn requests everything it needs from the outside as an
//! [`Effect`](turn::Effect), and time arrives with the answers. A host does this:
//!
//! ```
//! use std::sync::Arc;
//! use convengine_core::config::Config;
//! use convengine_core::pack::{Conversations, Pack, Scripted};
//! use convengine_core::turn::{Completion, Turn};
//!
//! let pack = Pack::parse(r#"{"name": "hello",
//!     "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
//!     "tables": {"ce_response": [{"response_id": 1, "intent_code": "UNKNOWN", "state_code": "ANY",
//!         "output_format": "TEXT", "response_type": "EXACT", "exact_text": "You said {{userText}}."}]},
//!     "turns": [{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": {"message": "hello"}}}]}"#)?;
//! let (config, issues) = Config::compile(&pack.tables, &pack.settings);
//! assert!(issues.is_empty());
//! let mut scripted = Scripted::from_pack(&pack);
//! let mut conversations = Conversations::default();
//!
//! let message = pack.message(0).ok_or("not a message")?;
//! let (mut turn, mut slice) = Turn::start(message.into_input(&conversations, config.program()), Arc::new(config))?;
//! let outcome = loop {
//!     // publish slice.notices here, before the effects start
//!     if let Some(outcome) = slice.end.take() {
//!         break outcome;
//!     }
//!     let effect = slice.effects.pop().ok_or("stalled")?;
//!     let (answer, delay_ms) = scripted.answer(&effect.request);
//!     let at = 1_767_258_000_000 + i64::try_from(delay_ms)?;
//!     slice = turn.resume(vec![Completion { id: effect.id, at, outcome: answer }])?;
//! };
//! conversations.commit(&outcome);
//! assert_eq!(outcome.payload.ok_or("no answer")?.value, "You said hello.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod program;
mod state_machines;
pub mod turn;
#[cfg(all(feature = "flows", feature = "tables"))]
#[cfg(test)]
mod turn_tests;

pub use convengine_config as config;
#[cfg(feature = "flows")]
pub use convengine_flow::{self as flow, chain};
#[cfg(feature = "lint")]
pub use convengine_lint as lint;
pub use convengine_pack as pack;
#[cfg(feature = "tables")]
pub use convengine_tables::audit::{Stage, is_recorded, matches_glob};
pub use convengine_text::{self as text, json, value};
pub use convengine_understanding::{knowledge, lexical};
pub use state_machines::list_transitions;
