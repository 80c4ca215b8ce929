//! Reads the document and its top-level objects from JSON.

use convengine_text::locale::EngineText;
use convengine_text::time_zone;
use convengine_text::variable_path::VariablePath;
use serde_json::Value;

use super::fields::{self, Fields};
use super::{
    Continuation, Document, EdgeCondition, EdgeDef, EntityDef, EventReplies, EventReply, FlowSettings, FlowTool, FuzzyMatching, GraphDef,
    GraphKind, IntentDef, IntentParameter, LexicalMatch, ListEntry, LocalizedText, NoInputReply, Node, Param, RepairRules, SmallTalkDef,
    ValueType, Variable, VersionPolicy,
};

impl Document {
    /// Reads a document whose structure has been checked.
    pub fn read(source: &Value) -> Document {
        let fields = Fields(source);
        let events = fields.object_or_empty("events");
        Document {
            id: fields.string("id"),
            name: fields.string("name"),
            default_locale: fields.string_or("default_locale", "en"),
            default_time_zone: fields.optional_string("default_time_zone"),
            time_zones: fields.members("time_zones").filter_map(|(channel, it)| Some((channel.clone(), it.as_str()?.to_owned()))).collect(),
            locales: fields.strings("locales"),
            root: fields.string("root"),
            graphs: fields.list("graphs", GraphDef::read),
            intents: fields.list("intents", IntentDef::read),
            entities: fields.list("entities", EntityDef::read),
            tools: fields.list("tools", FlowTool::read),
            small_talk: fields.list("small_talk", SmallTalkDef::read),
            events: EventReplies {
                welcome: EventReply::read(events.object_or_empty("welcome")),
                fallback: EventReply::read(events.object_or_empty("fallback")),
                no_input: NoInputReply::read(events.object_or_empty("no_input")),
            },
            settings: FlowSettings::read(fields.object_or_empty("settings")),
            variables: fields.list("variables", Variable::read),
            strings: fields.map("strings"),
            engine_texts: fields.members("engine_texts").map(|(name, text)| (name.clone(), LocalizedText::from(text))).collect(),
            repair: RepairRules::read(fields.object_or_empty("repair")),
            agent: None,
        }
    }

    /// Returns its wording of a text of the engine.
    pub fn engine_text(&self, text: EngineText) -> Option<&LocalizedText> {
        self.engine_texts.iter().find(|it| it.0 == text.name()).map(|it| &it.1)
    }

    /// Returns the time zone of a session: the first of its own, that of its channel and that of the document which is known, else UTC.
    pub fn time_zone_for(&self, own: Option<&str>, channel: &str) -> &'static str {
        let names = [own, self.time_zones.get(channel).map(String::as_str), self.default_time_zone.as_deref()];
        names.into_iter().flatten().find_map(time_zone::canonical_name).unwrap_or(time_zone::UTC)
    }

    /// Looks up a string: by locale, its language, the default locale, its language, `default`, then without a locale.
    pub fn string(&self, key: &VariablePath, locale: &str) -> Option<&Value> {
        let language = |it: &str| it.split(['-', '_']).next().unwrap_or_default().to_owned();
        let own = &self.default_locale;
        let locales = [locale.to_owned(), language(locale), own.clone(), language(own), "default".to_owned()];
        let of_locale = |it: &String| key.find(self.strings.get(it)?.as_object()?);
        locales.iter().find_map(of_locale).or_else(|| key.find(&self.strings)).filter(|it| it.is_string())
    }
}

impl GraphDef {
    fn read(fields: Fields<'_>) -> GraphDef {
        GraphDef {
            id: fields.string("id"),
            kind: fields.keyword("kind", &[("root", GraphKind::Root), ("intent", GraphKind::Intent)]).unwrap_or(GraphKind::Subflow),
            entry: fields.string("entry"),
            nodes: fields.list("nodes", Node::read).into_iter().flatten().collect(),
            edges: fields.list("edges", EdgeDef::read),
            params: fields.list("params", Param::read),
            returns: fields.list("returns", Param::read),
            exits: fields.strings("exits"),
        }
    }
}

impl EdgeDef {
    pub(super) fn read(fields: Fields<'_>) -> EdgeDef {
        let condition = fields.object_or_empty("condition").text("expr");
        EdgeDef {
            id: fields.string("id"),
            source: fields.string("source"),
            source_port: fields.string_or("source_port", "out"),
            target: fields.string("target"),
            priority: fields.integer("priority").unwrap_or(100),
            condition: condition.map(|it| EdgeCondition { expr: it.into() }),
        }
    }
}

impl Param {
    pub(super) fn read(fields: Fields<'_>) -> Param {
        Param {
            name: fields::parse_path(fields.text("name").unwrap_or_default()),
            kind: ValueType::read(fields),
            required: fields.flag("required", false),
            default: fields.0.get("default").cloned(),
        }
    }
}

impl IntentDef {
    fn read(fields: Fields<'_>) -> IntentDef {
        IntentDef {
            id: fields.string("id"),
            name: fields.string("name"),
            label: fields.localized("label").unwrap_or_default(),
            description: fields.string("description"),
            phrases: fields.strings("phrases"),
            negative_phrases: fields.strings("negative_phrases"),
            priority: fields.integer("priority").unwrap_or(100),
            graph: fields.string("graph"),
            parameters: fields.list("parameters", IntentParameter::read),
            is_fallback: fields.flag("is_fallback", false),
            interrupts: fields.flag("interrupts", true),
            knowledge_sources: fields.value("knowledge_sources").is_some().then(|| fields.strings("knowledge_sources")),
            enabled: fields.flag("enabled", true),
        }
    }
}

impl IntentParameter {
    fn read(fields: Fields<'_>) -> IntentParameter {
        let prompt = fields.localized("prompt").unwrap_or_default();
        let required = fields.flag("required", false);
        IntentParameter {
            variable: fields::parse_path(fields.text("variable").unwrap_or_default()),
            entity: fields.string("entity"),
            required,
            is_prompted: required || !prompt.is_blank(),
            keep: fields.flag("keep", false),
            takes_anything: fields.text("take") == Some("anything"),
            help: fields.localized("help"),
            prompt,
            reprompt: fields.list("reprompt", |it| LocalizedText::from(it.0)),
        }
    }
}

impl ListEntry {
    fn read(fields: Fields<'_>) -> ListEntry {
        ListEntry {
            value: fields.string("value"),
            synonyms: fields.strings("synonyms"),
            label: fields.localized("label").unwrap_or_default(),
        }
    }

    /// What users may write for the value besides the value itself: its synonyms, and its names in all languages.
    pub fn other_spellings(&self) -> Vec<String> {
        let literals = self.label.templates().filter_map(|it| it.compiled.as_ref().ok()?.literal());
        let mut spellings = self.synonyms.clone();
        for label in literals {
            if label != self.value && !spellings.iter().any(|it| it == label) {
                spellings.push(label.to_owned());
            }
        }
        spellings
    }
}

impl EntityDef {
    fn read(fields: Fields<'_>) -> EntityDef {
        let edits = fields.object_or_empty("fuzzy").count("max_edits").unwrap_or(0);
        EntityDef {
            id: fields.string("id"),
            kind: fields.string("kind"),
            entries: fields.list("entries", ListEntry::read),
            patterns: fields.strings("patterns"),
            ignores_case: fields.flag("ignore_case", false),
            group: fields.optional_string("group"),
            fuzzy: FuzzyMatching { max_edits: u8::try_from(edits).unwrap_or(2) },
            negative_phrases: fields.strings("negative_phrases"),
            redact: fields.flag("redact", false),
        }
    }
}

impl SmallTalkDef {
    fn read(fields: Fields<'_>) -> SmallTalkDef {
        SmallTalkDef {
            id: fields.string("id"),
            patterns: fields.strings("patterns"),
            responses: fields.list("responses", |it| LocalizedText::from(it.0)),
            min_score: fields.float("min_score").unwrap_or(0.8),
            after: Continuation::read(fields, "after"),
        }
    }
}

impl Continuation {
    fn read(fields: Fields<'_>, name: &str) -> Continuation {
        fields.keyword(name, &[("end_session", Continuation::EndSession)]).unwrap_or_default()
    }
}

impl EventReply {
    fn read(fields: Fields<'_>) -> EventReply {
        EventReply { enabled: fields.flag("enabled", false), message: fields.localized("message"), graph: fields.optional_string("graph") }
    }
}

impl NoInputReply {
    fn read(fields: Fields<'_>) -> NoInputReply {
        NoInputReply {
            enabled: fields.flag("enabled", false),
            message: fields.localized("message"),
            graph: fields.optional_string("graph"),
            max_times: fields.count_u32("max_times").unwrap_or(2),
            then: Continuation::read(fields, "then"),
        }
    }
}

impl FlowSettings {
    fn read(fields: Fields<'_>) -> FlowSettings {
        let policies = [("migrate_at_root", VersionPolicy::MigrateAtRoot), ("migrate_eager", VersionPolicy::MigrateEager)];
        FlowSettings {
            no_input_timeout_s: fields.count("no_input_timeout_s").unwrap_or(0),
            session_timeout_s: fields.count("session_timeout_s").unwrap_or(1800),
            retention_days: fields.count_u32("retention_days"),
            monthly_llm_spend_cap_cents: fields.count("monthly_llm_spend_cap_cents"),
            daily_spend_cap_cents: None,
            intent_min_confidence: fields.float("intent_min_confidence").unwrap_or(0.6),
            llm_verify: fields.flag("llm_verify", true),
            llm_match: fields.flag("llm_match", true),
            lexical_match: LexicalMatch::read(fields.object_or_empty("lexical_match")),
            knowledge_fallback: fields.flag("knowledge_fallback", false),
            knowledge_fallback_min_score: fields.float("knowledge_fallback_min_score"),
            fallback_limit: fields.count_u32("fallback_limit").unwrap_or(3),
            fallback_limit_graph: fields.optional_string("fallback_limit_graph"),
            error_message: fields.localized("error_message"),
            handoff_webhook_url: fields.template("handoff_webhook_url").filter(|it| !it.source.trim().is_empty()),
            max_steps_per_turn: fields.count_u32("max_steps_per_turn").unwrap_or(64),
            max_call_depth: fields.count("max_call_depth").and_then(|it| usize::try_from(it).ok()).unwrap_or(16),
            version_policy: fields.keyword("version_policy", &policies).unwrap_or(VersionPolicy::Pin),
            models: fields.members("models").filter_map(|(alias, model)| Some((alias.clone(), model.as_str()?.to_owned()))).collect(),
        }
    }
}

impl LexicalMatch {
    fn read(fields: Fields<'_>) -> LexicalMatch {
        LexicalMatch {
            enabled: fields.flag("enabled", true),
            accept_above: fields.float("accept_above"),
            ask_below_margin: fields.float("ask_below_margin").unwrap_or(0.03),
        }
    }
}

impl Variable {
    fn read(fields: Fields<'_>) -> Variable {
        Variable {
            name: fields::parse_path(fields.text("name").unwrap_or_default()),
            kind: ValueType::read(fields).unwrap_or(ValueType::Any),
            default: fields.0.get("default").cloned(),
            redact: fields.flag("redact", false),
        }
    }
}
