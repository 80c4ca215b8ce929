//! The pipelines that control tables configure: their steps, the session they work on, and what they share.

pub mod audit;
pub mod extension;
pub mod intent;
pub mod llm;
pub mod pending_action;
pub mod pipeline;
pub mod planner_loop;
pub mod respond;
pub mod rules;
pub mod schema;
pub mod service;
pub mod session;
pub mod step_context;
pub mod tool;
pub mod verbose;
