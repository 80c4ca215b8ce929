//! What templates can name. (`spec/data-and-api.md` 4.3)

use serde_json::Value;

use super::Session;
use crate::text::template::Template;
use crate::turn::Map;

/// Variables of one rendering: its own first, then the fixed names, then the members of session, parameters and context.
pub struct Variables {
    own: Map,
    metadata: Value,
    session: Value,
    params: Value,
    context: Value,
}

impl Session {
    /// Fills a template; `own` are the variables of this rendering alone.
    pub fn render(&self, template: &Template, own: impl FnOnce() -> Map) -> String {
        if let Some(text) = template.literal() {
            return text.to_owned();
        }
        let variables = self.variables(own());
        template.render(|name| variables.find(name))
    }

    fn variables(&self, own: Map) -> Variables {
        Variables {
            metadata: Value::Object(own.clone()),
            own,
            session: Value::Object(self.view()),
            params: Value::Object(self.safe_params()),
            context: Value::Object(self.context.clone()),
        }
    }
}

impl Variables {
    fn find(&self, name: &str) -> Option<&Value> {
        if let Some(value) = self.own.get(name) {
            return Some(value);
        }
        match name {
            "metadata" => Some(&self.metadata),
            "session" => Some(&self.session),
            "inputParams" | "safeInputParams" | "rawInputParams" | "promptVars" => Some(&self.params),
            "context" | "schema" | "schemaJson" => Some(&self.context),
            _ => self.session.get(name).or_else(|| self.params.get(name)).or_else(|| self.context.get(name)),
        }
    }
}
