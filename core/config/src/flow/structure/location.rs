//! The location of the structural check in a document.

use serde_json::Value;

use super::super::issue::DocumentIssue;
use super::super::shape::Role;

/// A location: the path to it, and the graph, node and name that its issues report.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormLocation<'p> {
    parent: Option<&'p FormLocation<'p>>,
    segment: Segment<'p>,
    owner: Owner<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Segment<'p> {
    Document,
    Member(&'p str),
    Item(usize),
}

/// What an issue at a location reports.
#[derive(Debug, Clone, Copy, Default)]
struct Owner<'p> {
    graph: Option<&'p str>,
    node: Option<&'p str>,
    name: Option<&'p str>,
}

impl<'p> FormLocation<'p> {
    /// The document itself.
    pub fn document() -> FormLocation<'p> {
        FormLocation { parent: None, segment: Segment::Document, owner: Owner::default() }
    }

    /// The location of a member.
    pub fn member(&'p self, name: &'p str) -> FormLocation<'p> {
        FormLocation { parent: Some(self), segment: Segment::Member(name), owner: self.owner }
    }

    /// The location of an item.
    pub fn item(&'p self, at: usize) -> FormLocation<'p> {
        FormLocation { parent: Some(self), segment: Segment::Item(at), owner: self.owner }
    }

    /// Updates the owner for a value of a role.
    #[must_use]
    pub fn with_owner(self, role: Role, value: &'p Value) -> FormLocation<'p> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let owner = match role {
            Role::Part => self.owner,
            Role::Graph => Owner { graph: text("id"), node: None, name: text("name") },
            Role::Node => Owner { node: text("id"), name: text("name").or_else(|| text("label")), ..self.owner },
            Role::Item => Owner { name: text("name").or_else(|| text("label")).or_else(|| text("id")), ..self.owner },
        };
        FormLocation { owner, ..self }
    }

    /// Creates an error here.
    pub fn error(&self, code: &'static str, message: String) -> DocumentIssue {
        self.add_owner(DocumentIssue::error(code, self.pointer(), message))
    }

    /// Creates a warning here.
    pub fn warning(&self, code: &'static str, message: String) -> DocumentIssue {
        self.add_owner(DocumentIssue::warning(code, self.pointer(), message))
    }

    fn add_owner(&self, issue: DocumentIssue) -> DocumentIssue {
        let Owner { graph, node, name } = self.owner;
        DocumentIssue { graph: graph.map(str::to_owned), node: node.map(str::to_owned), name: name.map(str::to_owned), ..issue }
    }

    /// Its name in messages, such as `'nodes[2]'`.
    pub fn title(&self) -> String {
        let mut indices = String::new();
        let mut place = self;
        loop {
            match (place.segment, place.parent) {
                (Segment::Item(at), Some(parent)) => {
                    indices = format!("[{at}]{indices}");
                    place = parent;
                }
                (Segment::Member(name), _) => return format!("'{name}{indices}'"),
                (Segment::Document | Segment::Item(_), _) => return "the document".to_owned(),
            }
        }
    }

    fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut place = Some(self);
        while let Some(location) = place {
            match location.segment {
                Segment::Document => {}
                Segment::Member(name) => steps.push(name.replace('~', "~0").replace('/', "~1")),
                Segment::Item(at) => steps.push(at.to_string()),
            }
            place = location.parent;
        }
        steps.iter().rev().fold(String::new(), |pointer, it| pointer + "/" + it)
    }
}
