//! `tool`: calls a tool of the workspace, as a `service` node of a workflow graph. (docs/spec/flows.md#9)

use convengine_derive::Described;
use convengine_turn::EffectClass;

use super::super::service::{OutputMapping, Retry};
use super::super::text::{FlowTemplate, ValueTemplate};
use super::{NodeKind, ServiceData};

/// Data of `tool`.
#[derive(Debug, Clone, Described)]
pub struct ToolData {
    /// The id of the tool.
    #[member(required, shape = ID, meaning = Names(Tool))]
    tool_name: String,
    /// The variable `args` of the templates of the tool.
    #[member(shape = AnyObject, meaning = Template(Text))]
    args: Option<ValueTemplate>,
    /// Mappings of the response to variables, in addition to those of the tool.
    #[member(roots("args"))]
    outputs: Vec<OutputMapping>,
    /// Time limit of an attempt.
    #[member(shape = Integer(100, 60_000), codes("V006", "V006"), documented_default = "10000")]
    timeout_ms: Option<u32>,
    /// When to try again; without it reads are tried 3 times, writes once.
    retry: Option<Retry>,
    /// Statuses that count as success; 200 to 299 without it.
    #[member(each = Integer(100, 599))]
    success: Vec<u16>,
    /// Key that makes a repeated write one write; only writes with a key are retried.
    idempotency_key: Option<FlowTemplate>,
    /// Larger responses fail with `response_too_large`.
    #[member(default = 262144)]
    max_response_bytes: u32,
    /// What repeating the call does; that of the tool without it.
    effect_class: Option<EffectClass>,
}

impl From<ToolData> for NodeKind {
    fn from(data: ToolData) -> NodeKind {
        NodeKind::Service(Box::new(ServiceData {
            tool_id: Some(data.tool_name),
            request: None,
            args: data.args,
            outputs: data.outputs,
            timeout_ms: data.timeout_ms,
            retry: data.retry,
            success: data.success,
            idempotency_key: data.idempotency_key,
            max_response_bytes: data.max_response_bytes,
            effect_class: data.effect_class,
        }))
    }
}
