//! The conversation engine: a turn is a pure function of its journal.
//!
//! No sockets, files, clock, randomness, threads or logging: a turn requests everything it needs from the outside as an
//! [`Effect`](turn::Effect), and time arrives with the answers. A server, a browser, a unit test and a replay run the same bytes.
//!
//! # A turn
//!
//! 1. **Compile** a [`Config`](config::Config) from control tables or a document, once, and share it: it serves any number of turns at a
//!    time.
//! 2. **Load** the conversation into a [`TurnInput`](turn::TurnInput), with the event, the time and a seed. A turn knows nothing else.
//! 3. **Start** it with [`Turn::start`](turn::Turn::start). It runs to its first wait and returns a [`Slice`](turn::Slice).
//! 4. **Publish** the notices of the slice, then **perform** its effects, in any order or all at once, and pass each result to
//!    [`Turn::resume`](turn::Turn::resume) with the time at which it arrived. That a service failed is a result as well. Repeat with the
//!    next slice.
//! 5. **Commit** the writes of the [`Outcome`](turn::Outcome), which the last slice has, in one transaction. A failed turn has one too: of
//!    a flow, its session; of a pipeline, what is kept anyway, such as a reset that was asked for.
//! 6. **Keep** the [`Journal`](turn::Journal): a turn that a crash has cut off goes on from it ([`Turn::rescue`](turn::Turn::rescue)), and
//!    a bug report replays from it ([`Turn::restore`](turn::Turn::restore)).
//!
//! ```
//! use std::sync::Arc;
//! use convengine_core::config::{Config, Tables};
//! use convengine_core::turn::{
//!     Completion, Effect, EffectError, EffectErrorKind, EffectResult, LlmReply, LoadedSession, Reply, Request, Turn, TurnInput, UserEvent,
//!     state_hash,
//! };
//! use serde_json::json;
//!
//! let tables: Tables = serde_json::from_value(json!({
//!     "ce_response": [
//!         {"response_id": 1, "intent_code": "UNKNOWN", "state_code": "ANY", "output_format": "TEXT", "response_type": "DERIVED"}],
//!     "ce_prompt_template": [{"template_id": 1, "intent_code": "UNKNOWN", "state_code": "ANY", "output_format": "TEXT",
//!         "system_prompt": "You answer for a bakery that opens at 6 and closes at 14.", "user_prompt": "{{userText}}"}],
//! }))?;
//! let (config, issues) = Config::compile(&tables, &json!({"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}}));
//! assert!(issues.is_empty(), "{issues:?}");
//! let config = Arc::new(config);
//!
//! let input = TurnInput {
//!     turn: "1c0f54d2-45a5-4e6a-9cf1-5b6a3c2e7b11".to_owned(),
//!     conversation: "7f9c2ba4-e88f-4a3d-9d3c-4c1b0a5e6f70".to_owned(),
//!     at: 1_767_258_000_000,
//!     seed: 7,
//!     program: config.program(),
//!     event: UserEvent { text: Some("When are you open?".to_owned()), ..UserEvent::default() },
//!     session: LoadedSession::default(),
//! };
//! // The host: here a model that always says the same, and nothing else.
//! let perform = |request: &Request| match request {
//!     Request::Llm(_) => EffectResult::Ok(Reply::Llm(LlmReply { text: "From 6 to 14.".to_owned(), ..LlmReply::default() })),
//!     _ => EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, "this host calls models only")),
//! };
//!
//! let (mut turn, mut slice) = Turn::start(input, Arc::clone(&config))?;
//! let mut notices = Vec::new();
//! let outcome = loop {
//!     notices.append(&mut slice.notices);
//!     if let Some(outcome) = slice.end {
//!         break outcome;
//!     }
//!     let complete = |effect: &Effect| Completion { id: effect.id, at: turn.now() + 800, outcome: perform(&effect.request) };
//!     let completions = slice.effects.iter().map(complete).collect();
//!     slice = turn.resume(completions)?;
//! };
//! assert_eq!(outcome.payload.as_ref().ok_or("no answer")?.value, "From 6 to 14.");
//! let session = LoadedSession::default().with_writes(&outcome.writes);
//! assert_eq!(session.history[0].user, "When are you open?");
//!
//! // The journal is all that is needed to do the same again: on another machine, in a year, without a model.
//! let (_, replayed) = Turn::restore(turn.journal().clone(), config)?;
//! assert_eq!(state_hash(&replayed.end.ok_or("cut off")?, &replayed.notices), state_hash(&outcome, &notices));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go on
//!
//! | to | see |
//! |---|---|
//! | drive turns, cancel them, replay them, look into them | [`turn::Turn`] |
//! | answer effects | [`turn::Request`], [`turn::Reply`], [`turn::EffectError`] |
//! | load configuration, and say what is wrong with it | [`config::Config`], [`config::Issue`], `lint` |
//! | test conversations without I/O | [`pack::Pack`], [`pack::Scripted`], [`pack::Conversations`] |
//!
//! The crates behind it have their own names in examples: `convengine_turn` is [`turn`], `convengine_config` is [`config`], and so on. An
//! embedder depends on this one only. Without the default features `flows`, `tables` and `lint` it is smaller; a configuration whose
//! program is missing is refused with [`TurnError::MissingFeature`](turn::TurnError::MissingFeature).

mod program;
mod state_machines;
pub mod turn;
#[cfg(all(feature = "flows", feature = "tables"))]
#[cfg(test)]
mod turn_tests;

#[doc(inline)]
pub use convengine_config as config;
#[cfg(feature = "flows")]
#[doc(inline)]
pub use convengine_flow::{self as flow, chain};
#[cfg(feature = "lint")]
#[doc(inline)]
pub use convengine_lint as lint;
#[doc(inline)]
pub use convengine_pack as pack;
#[cfg(feature = "tables")]
pub use convengine_tables::audit::{Stage, is_recorded, matches_glob};
#[doc(inline)]
pub use convengine_text::{self as text, json, value};
#[doc(inline)]
pub use convengine_understanding::{knowledge, lexical};
pub use state_machines::list_transitions;
