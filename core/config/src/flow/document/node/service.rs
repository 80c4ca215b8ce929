//! `service`: calls a service over HTTP, or a tool of the document. (docs/spec/flows.md#4.6)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;
use convengine_turn::EffectClass;

use super::super::service::{HttpRequestDef, OutputMapping, Retry};
use super::super::text::{FlowTemplate, ValueTemplate};
use super::super::{Document, ValueType};
use super::traits::{NodeData, NodeTraits, VariableWrite};

/// Data of `service`.
#[derive(Debug, Clone, Described)]
pub struct ServiceData {
    /// Tool to call; exactly one of `tool_id` and `request`.
    #[member(shape = ID, meaning = Names(Tool), title = "Tool")]
    pub tool_id: Option<String>,
    /// Request of its own.
    #[member(roots("args"))]
    pub request: Option<HttpRequestDef>,
    /// Values that templates of the request read as `args`.
    #[member(shape = AnyObject, meaning = Template(Text))]
    pub args: Option<ValueTemplate>,
    /// Values of the response to store, after those of the tool.
    #[member(roots("args"))]
    pub outputs: Vec<OutputMapping>,
    /// Time limit of an attempt.
    #[member(shape = Integer(100, 60_000), codes("V006", "V006"), documented_default = "10000")]
    pub timeout_ms: Option<u32>,
    /// When to try again; without it reads are tried 3 times, writes once.
    pub retry: Option<Retry>,
    /// Statuses that count as success; 200 to 299 without it.
    #[member(each = Integer(100, 599))]
    pub success: Vec<u16>,
    /// Key that makes a repeated write one write; only writes with a key are retried.
    pub idempotency_key: Option<FlowTemplate>,
    /// Larger responses fail with `response_too_large`.
    #[member(default = 262144)]
    pub max_response_bytes: u32,
    /// What repeating the call does; `read` for GET and HEAD, else `write`.
    pub effect_class: Option<EffectClass>,
}

impl NodeData for ServiceData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { default_port: "success", failure_port: Some("failure"), ports: &["success", "failure"], ..NodeTraits::CALLING }
    }

    fn writes(&self, document: &Document) -> Option<Vec<VariableWrite>> {
        let tool = self.tool_id.as_ref().and_then(|id| document.tools.iter().find(|tool| tool.id == *id));
        let outputs = tool.into_iter().flat_map(|it| &it.outputs).chain(&self.outputs);
        let body = VariableWrite { variable: VariablePath::from_name("response_body"), kind: None };
        let status = VariableWrite { variable: VariablePath::from_name("response_status"), kind: Some(ValueType::Number) };
        Some([body, status].into_iter().chain(outputs.map(|output| VariableWrite::new(&output.variable, output.kind))).collect())
    }
}
