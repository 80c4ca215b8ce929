//! The document as a whole: what its objects hold is read member by member.

use serde_json::Value;

use crate::text::path::Path;

use super::read::{self, Of};
use super::{
    AfterTalk, Document, EdgeCondition, EdgeForm, EntityForParameter, EntityForm, Event, Events, FlowSettings, FlowTool, Fuzzy, GraphForm,
    GraphKind, IntentForm, ListEntry, LocalizedText, NoInput, Node, Param, SmallTalkForm, ValueType, Variable, VersionPolicy,
};

impl Document {
    /// Reads a document whose form has been checked.
    pub fn read(source: &Value) -> Document {
        let of = Of(source);
        let events = of.part("events");
        Document {
            id: of.string("id"),
            name: of.string("name"),
            default_locale: of.string_or("default_locale", "en"),
            locales: of.strings("locales"),
            root: of.string("root"),
            graphs: of.list("graphs", GraphForm::read),
            intents: of.list("intents", IntentForm::read),
            entities: of.list("entities", EntityForm::read),
            tools: of.list("tools", FlowTool::read),
            small_talk: of.list("small_talk", SmallTalkForm::read),
            events: Events {
                welcome: Event::read(events.part("welcome")),
                fallback: Event::read(events.part("fallback")),
                no_input: NoInput::read(events.part("no_input")),
            },
            settings: FlowSettings::read(of.part("settings")),
            variables: of.list("variables", Variable::read),
            strings: of.map("strings"),
        }
    }

    /// A text of the table: of the locale, its language, the document's own locale, `default`, or of the table itself.
    pub fn string(&self, key: &Path, locale: &str) -> Option<&Value> {
        let language = |it: &str| it.split(['-', '_']).next().unwrap_or_default().to_owned();
        let own = &self.default_locale;
        let locales = [locale.to_owned(), language(locale), own.clone(), language(own), "default".to_owned()];
        let of_locale = |it: &String| key.find(self.strings.get(it)?.as_object()?);
        locales.iter().find_map(of_locale).or_else(|| key.find(&self.strings)).filter(|it| it.is_string())
    }
}

impl GraphForm {
    fn read(of: Of<'_>) -> GraphForm {
        GraphForm {
            id: of.string("id"),
            kind: of.word("kind", &[("root", GraphKind::Root), ("intent", GraphKind::Intent)]).unwrap_or(GraphKind::Subflow),
            entry: of.string("entry"),
            nodes: of.list("nodes", Node::read),
            edges: of.list("edges", EdgeForm::read),
            params: of.list("params", Param::read),
            returns: of.list("returns", Param::read),
            exits: of.strings("exits"),
        }
    }
}

impl EdgeForm {
    fn read(of: Of<'_>) -> EdgeForm {
        let condition = of.part("condition").text("expr");
        EdgeForm {
            id: of.string("id"),
            source: of.string("source"),
            source_port: of.string_or("source_port", "out"),
            target: of.string("target"),
            priority: of.whole("priority").unwrap_or(100),
            condition: condition.map(|it| EdgeCondition { expr: it.into() }),
        }
    }
}

impl Param {
    fn read(of: Of<'_>) -> Param {
        Param {
            name: read::path(of.text("name").unwrap_or_default()),
            kind: ValueType::read(of),
            required: of.flag("required", false),
            default: of.0.get("default").cloned(),
        }
    }
}

impl IntentForm {
    fn read(of: Of<'_>) -> IntentForm {
        IntentForm {
            id: of.string("id"),
            name: of.string("name"),
            description: of.string("description"),
            phrases: of.strings("phrases"),
            negative_phrases: of.strings("negative_phrases"),
            priority: of.whole("priority").unwrap_or(100),
            graph: of.string("graph"),
            parameters: of.list("parameters", EntityForParameter::read),
            is_fallback: of.flag("is_fallback", false),
            interrupts: of.flag("interrupts", true),
            enabled: of.flag("enabled", true),
        }
    }
}

impl EntityForParameter {
    fn read(of: Of<'_>) -> EntityForParameter {
        let prompt = of.localized("prompt").unwrap_or_default();
        let required = of.flag("required", false);
        EntityForParameter {
            variable: read::path(of.text("variable").unwrap_or_default()),
            entity: of.string("entity"),
            required,
            asks: required || !prompt.is_blank(),
            prompt,
            reprompt: of.list("reprompt", |it| LocalizedText::from(it.0)),
        }
    }
}

impl EntityForm {
    fn read(of: Of<'_>) -> EntityForm {
        let edits = of.part("fuzzy").count("max_edits").unwrap_or(0);
        EntityForm {
            id: of.string("id"),
            kind: of.string("kind"),
            entries: of.list("entries", |it| ListEntry { value: it.string("value"), synonyms: it.strings("synonyms") }),
            patterns: of.strings("patterns"),
            group: of.maybe("group"),
            fuzzy: Fuzzy { max_edits: u8::try_from(edits).unwrap_or(2) },
            redact: of.flag("redact", false),
        }
    }
}

impl SmallTalkForm {
    fn read(of: Of<'_>) -> SmallTalkForm {
        SmallTalkForm {
            id: of.string("id"),
            patterns: of.strings("patterns"),
            responses: of.list("responses", |it| LocalizedText::from(it.0)),
            min_score: of.real("min_score").unwrap_or(0.8),
            after: AfterTalk::read(of, "after"),
        }
    }
}

impl AfterTalk {
    fn read(of: Of<'_>, name: &str) -> AfterTalk {
        of.word(name, &[("end_session", AfterTalk::EndSession)]).unwrap_or_default()
    }
}

impl Event {
    fn read(of: Of<'_>) -> Event {
        Event { enabled: of.flag("enabled", false), message: of.localized("message"), graph: of.maybe("graph") }
    }
}

impl NoInput {
    fn read(of: Of<'_>) -> NoInput {
        NoInput {
            enabled: of.flag("enabled", false),
            message: of.localized("message"),
            graph: of.maybe("graph"),
            max_times: of.small("max_times").unwrap_or(2),
            then: AfterTalk::read(of, "then"),
        }
    }
}

impl FlowSettings {
    fn read(of: Of<'_>) -> FlowSettings {
        let policies = [("migrate_at_root", VersionPolicy::MigrateAtRoot), ("migrate_eager", VersionPolicy::MigrateEager)];
        FlowSettings {
            no_input_timeout_s: of.count("no_input_timeout_s").unwrap_or(0),
            session_timeout_s: of.count("session_timeout_s").unwrap_or(1800),
            retention_days: of.small("retention_days"),
            monthly_llm_spend_cap_cents: of.count("monthly_llm_spend_cap_cents"),
            intent_min_confidence: of.real("intent_min_confidence").unwrap_or(0.6),
            llm_verify: of.flag("llm_verify", true),
            llm_match: of.flag("llm_match", true),
            knowledge_fallback: of.flag("knowledge_fallback", false),
            knowledge_fallback_min_score: of.real("knowledge_fallback_min_score"),
            fallback_limit: of.small("fallback_limit").unwrap_or(3),
            fallback_limit_graph: of.maybe("fallback_limit_graph"),
            error_message: of.localized("error_message"),
            handoff_webhook_url: of.maybe("handoff_webhook_url"),
            max_steps_per_turn: of.small("max_steps_per_turn").unwrap_or(64),
            max_call_depth: of.count("max_call_depth").and_then(|it| usize::try_from(it).ok()).unwrap_or(16),
            version_policy: of.word("version_policy", &policies).unwrap_or(VersionPolicy::Pin),
            models: of.members("models").filter_map(|(alias, model)| Some((alias.clone(), model.as_str()?.to_owned()))).collect(),
        }
    }
}

impl Variable {
    fn read(of: Of<'_>) -> Variable {
        Variable {
            name: read::path(of.text("name").unwrap_or_default()),
            kind: ValueType::read(of).unwrap_or(ValueType::Any),
            default: of.0.get("default").cloned(),
            redact: of.flag("redact", false),
        }
    }
}
