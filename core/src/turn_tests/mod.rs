//! Whole turns of every family, played without a host.

mod agents;
mod flow;
mod flow_explanations;
mod matching;
mod nodes;
mod planner;
mod table_explanations;
