//! `knowledge`: searches the knowledge base. (docs/spec/flows.md#4.12)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;

use super::super::super::shape::Absent;
use super::super::text::FlowTemplate;
use super::super::{Document, ValueType};
use super::traits::{NodeData, NodeTraits, VariableWrite};

/// Data of `knowledge`.
#[derive(Debug, Clone, Described)]
pub struct KnowledgeData {
    /// Ids of the sources to search; when absent those of the intent, else all.
    #[member(each = NON_EMPTY, meaning = Names(Source))]
    pub sources: Option<Vec<String>>,
    /// What is searched for.
    #[member(required)]
    pub query: KnowledgeQuery,
    /// Passages that are read.
    #[member(shape = Integer(1, 50), default = 5)]
    pub top_k: u32,
    /// Weight of meaning against words.
    #[member(shape = Number(0, 1), default = 0.5)]
    pub vector_weight: f64,
    /// Lowest confidence of the best passage.
    #[member(shape = Number(0, 1), codes("K004", "K004"))]
    pub min_score: Option<f64>,
    /// Whether a model writes the answer; else the best passage is the answer.
    #[member(default = true)]
    pub synthesize: bool,
    /// Instructions to that model.
    pub instructions: Option<FlowTemplate>,
    /// Variable that takes `{answer, citations, conf, chunks}`.
    #[member(default = "knowledge", meaning = Writes)]
    pub variable: VariablePath,
    /// Whether the answer is sent.
    #[member(default = true)]
    pub reply: bool,
    /// `inline` numbers behind the answer, a `list` of titles, or `none`.
    pub citations: Citations,
}

/// Of what the query of a knowledge node consists.
#[derive(Debug, Clone, Described)]
pub struct KnowledgeQuery {
    /// In order: a template, the last message of the user, or a summary of the conversation.
    #[member(required, items(1, NO_MAX_LENGTH))]
    pub from: Vec<QueryPart>,
    /// The template.
    pub template: Option<FlowTemplate>,
}

/// A part of the query of a knowledge node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Described)]
pub enum QueryPart {
    /// The template of the node.
    Template,
    /// The last message of the user.
    LastUser,
    /// A summary of the conversation.
    Summary,
}

/// How an answer cites its chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum Citations {
    /// Not at all.
    None,
    /// By numbers after the answer.
    #[default]
    Inline,
    /// By a list below the answer.
    List,
}

impl KnowledgeData {
    /// The data of the knowledge fallback: the defaults, with the last message as the query. (docs/spec/flow-rulings.md#14)
    pub fn for_fallback(min_score: Option<f64>) -> KnowledgeData {
        let query = KnowledgeQuery { from: vec![QueryPart::LastUser], template: None };
        KnowledgeData { query, min_score: Some(min_score.unwrap_or(0.5)), ..KnowledgeData::absent() }
    }
}

impl NodeData for KnowledgeData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { ports: &["out", "no_result", "error"], is_goal: true, requires_model: self.synthesize, ..NodeTraits::CALLING }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        Some(vec![VariableWrite::new(&self.variable, Some(ValueType::Object))])
    }
}
