//! Template variables of the session. (docs/spec/data-and-api.md#4.3)

use std::cell::OnceCell;

use convengine_text::template::{RenderedTemplate, Template};
use convengine_turn::Map;
use serde_json::Value;

use super::Session;
use super::view::FACT_NAMES;

/// Variables of one rendering. Lookup order: its own, the fixed names, the members of session, parameters and context.
///
/// Each view of the session is built on first use; most templates use one.
struct Variables<'s> {
    source: &'s Session,
    own: Map,
    metadata: OnceCell<Value>,
    session: OnceCell<Value>,
    params: OnceCell<Value>,
    context: OnceCell<Value>,
    schema: OnceCell<Value>,
}

impl Session {
    /// Renders a template; `own` are the variables of this rendering only.
    pub fn render(&self, template: &Template, own: impl FnOnce() -> Map) -> RenderedTemplate {
        if let Some(text) = template.literal() {
            return RenderedTemplate { text: text.to_owned(), error: None };
        }
        let variables = Variables {
            source: self,
            own: own(),
            metadata: OnceCell::new(),
            session: OnceCell::new(),
            params: OnceCell::new(),
            context: OnceCell::new(),
            schema: OnceCell::new(),
        };
        template.render(|name| variables.find(name))
    }
}

impl Variables<'_> {
    fn find(&self, name: &str) -> Option<&Value> {
        if let Some(value) = self.own.get(name) {
            return Some(value);
        }
        match name {
            "metadata" => Some(self.metadata.get_or_init(|| Value::Object(self.own.clone()))),
            "session" => Some(self.session()),
            "inputParams" | "safeInputParams" | "rawInputParams" | "promptVars" => Some(self.params()),
            "context" => Some(self.context()),
            "schema" | "schemaJson" | "schema_json" => Some(self.schema.get_or_init(|| Value::Object(self.source.schema_json()))),
            _ if FACT_NAMES.contains(&name) => self.session().get(name),
            // Copies of session state, such as missing_field_options, are not stored but can be named.
            _ => self.params().get(name).or_else(|| self.context().get(name)).or_else(|| self.source.params.get(name)),
        }
    }

    fn session(&self) -> &Value {
        self.session.get_or_init(|| Value::Object(self.source.view()))
    }

    fn params(&self) -> &Value {
        self.params.get_or_init(|| Value::Object(self.source.safe_params()))
    }

    fn context(&self) -> &Value {
        self.context.get_or_init(|| Value::Object(self.source.context.clone()))
    }
}
