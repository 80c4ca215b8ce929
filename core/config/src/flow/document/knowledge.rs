//! Data of `knowledge` nodes. (docs/spec/flows.md#4.12)

use convengine_text::variable_path::VariablePath;

use super::fields::Fields;
use super::text::FlowTemplate;

/// The number of chunks that a node reads when it does not say.
const DEFAULT_TOP_K: u32 = 5;

/// The variable that stores the result when the node does not name one.
const DEFAULT_VARIABLE: &str = "knowledge";

/// Data of `knowledge`.
#[derive(Debug, Clone)]
pub struct KnowledgeData {
    /// The sources to search; those of the intent, else all, when absent.
    pub sources: Option<Vec<String>>,
    /// The parts of the query, in order.
    pub query: Vec<QueryPart>,
    /// The template of the query.
    pub template: Option<FlowTemplate>,
    /// Maximum chunks.
    pub top_k: u32,
    /// The weight of the vector list, 0 to 1.
    pub vector_weight: f64,
    /// Minimum confidence of the best chunk.
    pub min_score: Option<f64>,
    /// Whether a model writes the answer.
    pub synthesize: bool,
    /// Additional instructions for the model.
    pub instructions: Option<FlowTemplate>,
    /// The variable that stores the result.
    pub variable: VariablePath,
    /// Whether the answer is sent.
    pub reply: bool,
    /// How the answer cites its chunks.
    pub citations: Citations,
}

/// A part of the query of a knowledge node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryPart {
    /// The template of the node.
    Template,
    /// The last message of the user.
    LastUser,
    /// A summary of the conversation.
    Summary,
}

/// How an answer cites its chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    pub(super) fn read(fields: Fields<'_>) -> KnowledgeData {
        let query = fields.object_or_empty("query");
        let part = |name: &str| match name {
            "template" => Some(QueryPart::Template),
            "last_user" => Some(QueryPart::LastUser),
            "summary" => Some(QueryPart::Summary),
            _ => None,
        };
        KnowledgeData {
            sources: fields.value("sources").is_some().then(|| fields.strings("sources")),
            query: query.strings("from").iter().filter_map(|it| part(it)).collect(),
            template: query.template("template"),
            top_k: fields.count_u32("top_k").unwrap_or(DEFAULT_TOP_K),
            vector_weight: fields.float("vector_weight").unwrap_or(0.5),
            min_score: fields.float("min_score"),
            synthesize: fields.flag("synthesize", true),
            instructions: fields.template("instructions"),
            variable: fields.parse_path("variable").unwrap_or_else(|| VariablePath::from_name(DEFAULT_VARIABLE)),
            reply: fields.flag("reply", true),
            citations: fields.keyword("citations", &[("none", Citations::None), ("list", Citations::List)]).unwrap_or_default(),
        }
    }

    /// The data of the knowledge fallback: the defaults, with the last message as the query. (docs/spec/flow-rulings.md#14)
    pub fn for_fallback(min_score: Option<f64>) -> KnowledgeData {
        KnowledgeData {
            sources: None,
            query: vec![QueryPart::LastUser],
            template: None,
            top_k: DEFAULT_TOP_K,
            vector_weight: 0.5,
            min_score: Some(min_score.unwrap_or(0.5)),
            synthesize: true,
            instructions: None,
            variable: VariablePath::from_name(DEFAULT_VARIABLE),
            reply: true,
            citations: Citations::default(),
        }
    }
}
