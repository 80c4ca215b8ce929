//! The location of the structural check in a document.

use serde_json::Value;

use super::super::issue::DocumentIssue;
use super::super::shape::Role;

/// A location: the path to it, and the graph, node and name that its issues report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: Step<'p>,
    owner: Owner<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
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

impl<'p> Place<'p> {
    /// The document itself.
    pub fn document() -> Place<'p> {
        Place { parent: None, step: Step::Document, owner: Owner::default() }
    }

    /// The location of a member.
    pub fn member(&'p self, name: &'p str) -> Place<'p> {
        Place { parent: Some(self), step: Step::Member(name), owner: self.owner }
    }

    /// The location of an item.
    pub fn item(&'p self, at: usize) -> Place<'p> {
        Place { parent: Some(self), step: Step::Item(at), owner: self.owner }
    }

    /// Updates the owner for a value of a role.
    #[must_use]
    pub fn of(self, role: Role, value: &'p Value) -> Place<'p> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let owner = match role {
            Role::Part => self.owner,
            Role::Graph => Owner { graph: text("id"), node: None, name: text("name") },
            Role::Node => Owner { node: text("id"), name: text("name"), ..self.owner },
            Role::Item => Owner { name: text("name").or_else(|| text("label")).or_else(|| text("id")), ..self.owner },
        };
        Place { owner, ..self }
    }

    /// Creates an error here.
    pub fn error(&self, code: &'static str, message: String) -> DocumentIssue {
        self.named(DocumentIssue::error(code, self.pointer(), message))
    }

    /// Creates a warning here.
    pub fn warning(&self, code: &'static str, message: String) -> DocumentIssue {
        self.named(DocumentIssue::warning(code, self.pointer(), message))
    }

    fn named(&self, issue: DocumentIssue) -> DocumentIssue {
        let Owner { graph, node, name } = self.owner;
        DocumentIssue { graph: graph.map(str::to_owned), node: node.map(str::to_owned), name: name.map(str::to_owned), ..issue }
    }

    /// Its name in messages, such as `'nodes[2]'`.
    pub fn title(&self) -> String {
        let mut indices = String::new();
        let mut place = self;
        loop {
            match (place.step, place.parent) {
                (Step::Item(at), Some(parent)) => {
                    indices = format!("[{at}]{indices}");
                    place = parent;
                }
                (Step::Member(name), _) => return format!("'{name}{indices}'"),
                (Step::Document | Step::Item(_), _) => return "the document".to_owned(),
            }
        }
    }

    fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut place = Some(self);
        while let Some(it) = place {
            match it.step {
                Step::Document => {}
                Step::Member(name) => steps.push(name.replace('~', "~0").replace('/', "~1")),
                Step::Item(at) => steps.push(at.to_string()),
            }
            place = it.parent;
        }
        steps.iter().rev().fold(String::new(), |pointer, it| pointer + "/" + it)
    }
}
