//! Reads the document and its top-level objects from JSON.

use serde_json::Value;

use crate::text::path::Path;

use super::read::{self, Of};
use super::{
    AfterTalk, Document, EdgeCondition, EdgeForm, EntityForParameter, EntityForm, Event, Events, FlowSettings, FlowTool, Fuzzy, GraphForm,
    GraphKind, IntentForm, ListEntry, LocalizedText, NoInput, Node, Param, SmallTalkForm, ValueType, Variable, VersionPolicy,
};

impl Document {
    /// Reads a document whose structure has been checked.
    pub fn read(source: &Value) -> Document {
        let fields = Of(source);
        let events = fields.part("events");
        Document {
            id: fields.string("id"),
            name: fields.string("name"),
            default_locale: fields.string_or("default_locale", "en"),
            locales: fields.strings("locales"),
            root: fields.string("root"),
            graphs: fields.list("graphs", GraphForm::read),
            intents: fields.list("intents", IntentForm::read),
            entities: fields.list("entities", EntityForm::read),
            tools: fields.list("tools", FlowTool::read),
            small_talk: fields.list("small_talk", SmallTalkForm::read),
            events: Events {
                welcome: Event::read(events.part("welcome")),
                fallback: Event::read(events.part("fallback")),
                no_input: NoInput::read(events.part("no_input")),
            },
            settings: FlowSettings::read(fields.part("settings")),
            variables: fields.list("variables", Variable::read),
            strings: fields.map("strings"),
        }
    }

    /// Looks up a string: by locale, its language, the default locale, its language, `default`, then without a locale.
    pub fn string(&self, key: &Path, locale: &str) -> Option<&Value> {
        let language = |it: &str| it.split(['-', '_']).next().unwrap_or_default().to_owned();
        let own = &self.default_locale;
        let locales = [locale.to_owned(), language(locale), own.clone(), language(own), "default".to_owned()];
        let of_locale = |it: &String| key.find(self.strings.get(it)?.as_object()?);
        locales.iter().find_map(of_locale).or_else(|| key.find(&self.strings)).filter(|it| it.is_string())
    }
}

impl GraphForm {
    fn read(fields: Of<'_>) -> GraphForm {
        GraphForm {
            id: fields.string("id"),
            kind: fields.word("kind", &[("root", GraphKind::Root), ("intent", GraphKind::Intent)]).unwrap_or(GraphKind::Subflow),
            entry: fields.string("entry"),
            nodes: fields.list("nodes", Node::read),
            edges: fields.list("edges", EdgeForm::read),
            params: fields.list("params", Param::read),
            returns: fields.list("returns", Param::read),
            exits: fields.strings("exits"),
        }
    }
}

impl EdgeForm {
    fn read(fields: Of<'_>) -> EdgeForm {
        let condition = fields.part("condition").text("expr");
        EdgeForm {
            id: fields.string("id"),
            source: fields.string("source"),
            source_port: fields.string_or("source_port", "out"),
            target: fields.string("target"),
            priority: fields.whole("priority").unwrap_or(100),
            condition: condition.map(|it| EdgeCondition { expr: it.into() }),
        }
    }
}

impl Param {
    fn read(fields: Of<'_>) -> Param {
        Param {
            name: read::path(fields.text("name").unwrap_or_default()),
            kind: ValueType::read(fields),
            required: fields.flag("required", false),
            default: fields.0.get("default").cloned(),
        }
    }
}

impl IntentForm {
    fn read(fields: Of<'_>) -> IntentForm {
        IntentForm {
            id: fields.string("id"),
            name: fields.string("name"),
            description: fields.string("description"),
            phrases: fields.strings("phrases"),
            negative_phrases: fields.strings("negative_phrases"),
            priority: fields.whole("priority").unwrap_or(100),
            graph: fields.string("graph"),
            parameters: fields.list("parameters", EntityForParameter::read),
            is_fallback: fields.flag("is_fallback", false),
            interrupts: fields.flag("interrupts", true),
            enabled: fields.flag("enabled", true),
        }
    }
}

impl EntityForParameter {
    fn read(fields: Of<'_>) -> EntityForParameter {
        let prompt = fields.localized("prompt").unwrap_or_default();
        let required = fields.flag("required", false);
        EntityForParameter {
            variable: read::path(fields.text("variable").unwrap_or_default()),
            entity: fields.string("entity"),
            required,
            asks: required || !prompt.is_blank(),
            prompt,
            reprompt: fields.list("reprompt", |it| LocalizedText::from(it.0)),
        }
    }
}

impl EntityForm {
    fn read(fields: Of<'_>) -> EntityForm {
        let edits = fields.part("fuzzy").count("max_edits").unwrap_or(0);
        EntityForm {
            id: fields.string("id"),
            kind: fields.string("kind"),
            entries: fields.list("entries", |it| ListEntry { value: it.string("value"), synonyms: it.strings("synonyms") }),
            patterns: fields.strings("patterns"),
            group: fields.maybe("group"),
            fuzzy: Fuzzy { max_edits: u8::try_from(edits).unwrap_or(2) },
            redact: fields.flag("redact", false),
        }
    }
}

impl SmallTalkForm {
    fn read(fields: Of<'_>) -> SmallTalkForm {
        SmallTalkForm {
            id: fields.string("id"),
            patterns: fields.strings("patterns"),
            responses: fields.list("responses", |it| LocalizedText::from(it.0)),
            min_score: fields.real("min_score").unwrap_or(0.8),
            after: AfterTalk::read(fields, "after"),
        }
    }
}

impl AfterTalk {
    fn read(fields: Of<'_>, name: &str) -> AfterTalk {
        fields.word(name, &[("end_session", AfterTalk::EndSession)]).unwrap_or_default()
    }
}

impl Event {
    fn read(fields: Of<'_>) -> Event {
        Event { enabled: fields.flag("enabled", false), message: fields.localized("message"), graph: fields.maybe("graph") }
    }
}

impl NoInput {
    fn read(fields: Of<'_>) -> NoInput {
        NoInput {
            enabled: fields.flag("enabled", false),
            message: fields.localized("message"),
            graph: fields.maybe("graph"),
            max_times: fields.small("max_times").unwrap_or(2),
            then: AfterTalk::read(fields, "then"),
        }
    }
}

impl FlowSettings {
    fn read(fields: Of<'_>) -> FlowSettings {
        let policies = [("migrate_at_root", VersionPolicy::MigrateAtRoot), ("migrate_eager", VersionPolicy::MigrateEager)];
        FlowSettings {
            no_input_timeout_s: fields.count("no_input_timeout_s").unwrap_or(0),
            session_timeout_s: fields.count("session_timeout_s").unwrap_or(1800),
            retention_days: fields.small("retention_days"),
            monthly_llm_spend_cap_cents: fields.count("monthly_llm_spend_cap_cents"),
            intent_min_confidence: fields.real("intent_min_confidence").unwrap_or(0.6),
            llm_verify: fields.flag("llm_verify", true),
            llm_match: fields.flag("llm_match", true),
            knowledge_fallback: fields.flag("knowledge_fallback", false),
            knowledge_fallback_min_score: fields.real("knowledge_fallback_min_score"),
            fallback_limit: fields.small("fallback_limit").unwrap_or(3),
            fallback_limit_graph: fields.maybe("fallback_limit_graph"),
            error_message: fields.localized("error_message"),
            handoff_webhook_url: fields.maybe("handoff_webhook_url"),
            max_steps_per_turn: fields.small("max_steps_per_turn").unwrap_or(64),
            max_call_depth: fields.count("max_call_depth").and_then(|it| usize::try_from(it).ok()).unwrap_or(16),
            version_policy: fields.word("version_policy", &policies).unwrap_or(VersionPolicy::Pin),
            models: fields.members("models").filter_map(|(alias, model)| Some((alias.clone(), model.as_str()?.to_owned()))).collect(),
        }
    }
}

impl Variable {
    fn read(fields: Of<'_>) -> Variable {
        Variable {
            name: read::path(fields.text("name").unwrap_or_default()),
            kind: ValueType::read(fields).unwrap_or(ValueType::Any),
            default: fields.0.get("default").cloned(),
            redact: fields.flag("redact", false),
        }
    }
}
