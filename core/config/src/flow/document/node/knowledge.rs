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
    /// What is searched for.
    #[member(required)]
    pub query: KnowledgeQuery,
    /// Ids of the sources to search; when absent those of the intent, else all.
    #[member(each = NON_EMPTY, meaning = Names(Source))]
    pub sources: Option<Vec<String>>,
    /// Passages that are read.
    #[member(shape = Integer(1, 50), default = 5, title = "Passages")]
    pub top_k: u32,
    /// Lowest confidence of the best passage; below it nothing is found.
    #[member(shape = Number(0, 1), codes("K004", "K004"), title = "Least confidence")]
    pub min_score: Option<f64>,
    /// Weight of meaning against words.
    #[member(shape = Number(0, 1), default = 0.5, title = "Weight of vectors")]
    pub vector_weight: f64,
    /// Whether a model writes the answer; else the best passage is the answer.
    #[member(default = true, title = "A model writes the answer")]
    pub synthesize: bool,
    /// Instructions to that model.
    #[member(title = "Instructions for the answer", multiline)]
    pub instructions: Option<FlowTemplate>,
    /// `inline` numbers behind the answer, a `list` of titles, or `none`.
    pub citations: Citations,
    /// Whether the answer is sent.
    #[member(default = true, title = "Send the answer")]
    pub reply: bool,
    /// Variable that takes `{answer, citations, conf, chunks}`.
    #[member(default = "knowledge", meaning = Writes)]
    pub variable: VariablePath,
}

/// Of what the query of a knowledge node consists.
#[derive(Debug, Clone, Described)]
pub struct KnowledgeQuery {
    /// What it consists of, in order.
    #[member(required, items(1, NO_MAX_LENGTH))]
    pub from: Vec<QueryPart>,
    /// The template, for `template` in `from`.
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
    /// None.
    None,
    /// Numbers after the answer.
    #[default]
    Inline,
    /// A list below the answer.
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
        NodeTraits { ports: &["out", "no_result", "error"], ..NodeTraits::CALLING }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        Some(vec![VariableWrite::new(&self.variable, Some(ValueType::Object))])
    }
}
