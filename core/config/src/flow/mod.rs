//! Flow documents, workflow graphs and AI agents: the check of their structure, their JSON Schema, and their compiled form.
//! (docs/spec/flows.md#2, docs/spec/flows.md#3)
//!
//! A document is JSON until it is compiled. [`check_structure`] and its siblings say whether its form is right, with a place for each
//! problem; [`Flow::compile`] and [`Chain::compile`] refuse only what cannot be read at all; lint says the rest.
//!
//! | `doc` | kind | check | compiled |
//! |---|---|---|---|
//! | `conversation_flow` | assistant | [`check_structure`] | [`Flow`] |
//! | `workflow_graph` | workflow graph | [`check_workflow_structure`] | [`Flow`] |
//! | `ai_agent` | AI agent | [`check_agent_structure`] | [`Flow`] |
//! | `workflow_chain` | chain | [`check_chain_structure`] | [`Chain`] |

mod bound;
mod chain;
mod classifier;
mod compiled;
pub mod document;
mod import;
mod issue;
mod json_schema;
mod leaves;
mod redaction;
pub mod shape;
mod snapshot;
mod structure;
mod workspace_tools;

pub use bound::{BoundFlow, document_kind};
pub use chain::{Chain, chain_references, is_chain, is_same_name};
pub use compiled::{Flow, GraphRef, IntentPhrases, UNREADABLE_CODES, agent_memory_variable_of};
pub use convengine_understanding::entity::system_entity_names;
pub use import::import_canvas;
pub use issue::{DocumentIssue, DocumentSeverity};
pub use json_schema::{agent_json_schema, document_schema, document_schema_with_links, json_schema};
pub(crate) use json_schema::{member_schema, without_links};
pub use leaves::{document_leaves, names_in_document, node_leaves, step_leaves};
pub use snapshot::snapshot_hash;
pub use structure::{check_agent_structure, check_chain_structure, check_structure, check_workflow_structure};
pub use workspace_tools::{add_workspace_tools, find_missing_tools};
