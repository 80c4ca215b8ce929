//! Texts of the engine in the locales of the document. (B008)

use std::collections::BTreeSet;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::NodeKind;
use convengine_text::locale::{EngineText, find_engine_texts};

use super::context::{FlowContext, Location};

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let document = &context.flow.document;
    let default = (document.default_locale.as_str(), "/default_locale".to_owned());
    let declared = document.locales.iter().enumerate().map(|(at, locale)| (locale.as_str(), format!("/locales/{at}")));
    let mut seen = BTreeSet::new();
    let mut texts = None;
    for (locale, path) in std::iter::once(default).chain(declared) {
        if find_engine_texts(locale).is_some() || !seen.insert(locale) {
            continue;
        }
        let texts: &Vec<EngineText> = texts.get_or_insert_with(|| needed_texts(context));
        // A key for a channel is no text for the others.
        let is_missing = |text: &&EngineText| document.engine_text(**text).is_none_or(|own| own.variants_of_locale("", locale).is_empty());
        let missing: Vec<String> = texts.iter().filter(is_missing).map(|text| format!("'{}'", text.name())).collect();
        if missing.is_empty() {
            continue;
        }
        let spoken = find_engine_texts(&document.default_locale).map_or("en", |_| document.default_locale.as_str());
        let message = format!("the engine does not speak '{locale}': it says {} as in '{spoken}'", missing.join(", "));
        let fix = format!("add {} for '{locale}' to 'engine_texts'", missing.join(", "));
        findings.push(Location { path, ..Location::default() }.warning("B008", message).with_fix(fix));
    }
}

/// The texts of the engine that the document may need.
fn needed_texts(context: &FlowContext<'_>) -> Vec<EngineText> {
    let flow = context.flow;
    let document = &flow.document;
    let slots: Vec<_> =
        context.nodes().filter_map(|(_, _, node)| if let NodeKind::Entity(data) = &node.kind { Some(data) } else { None }).collect();
    let has_confirmation = slots.iter().any(|it| it.confirm);
    let parameters = || document.intents.iter().flat_map(|intent| &intent.parameters);
    let has_blank_prompt =
        slots.iter().any(|it| it.prompt.is_blank()) || parameters().any(|parameter| parameter.is_prompted() && parameter.prompt.is_blank());
    let entities: BTreeSet<&String> = slots.iter().map(|it| &it.entity).chain(parameters().map(|it| &it.entity)).collect();
    let has_clash =
        entities.into_iter().any(|entity| flow.compile_entity(entity).is_some_and(|entity| !entity.synonym_clashes().is_empty()));
    let asks_for_intent = flow.uses_classifier()
        && document.settings.lexical_match.ask_below_margin > 0.0
        && flow.matchable_phrases().filter(|it| !it.positive.is_empty()).count() > 1;
    let has_error = document.settings.error_message.as_ref().is_none_or(|it| it.is_blank());
    [
        (EngineText::ConfirmValue, has_confirmation),
        (EngineText::Yes, has_confirmation),
        (EngineText::No, has_confirmation),
        (EngineText::AskForValue, has_blank_prompt),
        (EngineText::ChooseValue, has_clash),
        (EngineText::ChooseIntent, asks_for_intent),
        (EngineText::Error, has_error),
    ]
    .into_iter()
    .filter_map(|(text, is_said)| is_said.then_some(text))
    .collect()
}

#[cfg(test)]
mod tests {
    use convengine_config::flow::DocumentIssue;
    use serde_json::{Value, json};

    use super::super::{PublishTarget, check_document};

    /// The issues of a document with a slot that is confirmed.
    fn issues(members: &Value) -> Vec<DocumentIssue> {
        let slot = json!({"variable": "n", "entity": "@number", "prompt": "How many?", "confirm": true});
        let mut document = json!({
            "schema_version": "1.0", "doc": "conversation_flow", "id": "d", "name": "D", "root": "r",
            "settings": {"error_message": "Sorry."},
            "graphs": [{"id": "r", "kind": "root", "entry": "s", "edges": [], "nodes": [
                {"id": "s", "type": "start", "name": "S", "data": {}}, {"id": "a", "type": "entity", "name": "A", "data": slot},
            ]}],
        });
        let members = members.as_object().unwrap().clone();
        document.as_object_mut().unwrap().extend(members);
        let issues = check_document(&document, &PublishTarget::empty());
        issues.into_iter().filter(|issue| issue.path.contains("locale") || issue.path.contains("engine_texts")).collect()
    }

    #[test]
    fn texts_that_a_locale_lacks_are_named() {
        let found = issues(&json!({"default_locale": "de-AT", "locales": ["de-AT", "sv", "hi", "fr-CA"]}));
        let [issue] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((issue.code, issue.path.as_str()), ("B008", "/locales/1"));
        assert_eq!(issue.message, "the engine does not speak 'sv': it says 'confirm_value', 'yes', 'no' as in 'de-AT'");
        assert_eq!(issue.fix.as_deref(), Some("add 'confirm_value', 'yes', 'no' for 'sv' to 'engine_texts'"));
        let found = issues(&json!({"default_locale": "pt", "engine_texts": {"yes": {"pt": "Sim"}, "confirm_value": "{value}?"}}));
        assert!(found.iter().any(|it| it.message == "the engine does not speak 'pt': it says 'no' as in 'en'"), "{found:?}");
        assert_eq!(issues(&json!({"default_locale": "es-MX", "locales": ["en", "es"]})), []);
        let all = json!({"yes": {"pt": "Sim"}, "no": {"pt-BR": ["Não", "Não!"]}, "confirm_value": {"default": "{value}?"}});
        assert_eq!(issues(&json!({"default_locale": "pt-BR", "engine_texts": all})), []);
    }

    #[test]
    fn texts_that_the_engine_does_not_say_are_errors() {
        let found =
            issues(&json!({"engine_texts": {"confirm": "x", "hello": "x", "no": {"x y": "x"}, "error": 1, "yes": "{{ nothing }}"}}));
        let places: Vec<(&str, &str)> = found.iter().map(|issue| (issue.code, issue.path.as_str())).collect();
        let expected = [
            ("D002", "/engine_texts/confirm"),
            ("D002", "/engine_texts/hello"),
            ("D007", "/engine_texts/no/x y"),
            ("D001", "/engine_texts/error"),
        ];
        assert!(expected.iter().all(|it| places.contains(it)), "{places:?}");
        assert_eq!(
            found.iter().find(|it| it.path.ends_with("hello")).and_then(|it| it.fix.as_deref()),
            Some(
                "use one of 'confirm_value', 'yes', 'no', 'ask_for_value', 'choose_value', 'choose_intent', 'not_understood', 'cancelled', \
                 'nothing_to_cancel', 'answer_needed', 'reason_for_question', 'first_question', 'cannot_change', 'corrected', 'started_over', \
                 'no_person', 'returned', 'can_help_with', 'not_understood_again', 'given_up', 'left_alone', 'error'"
            )
        );
    }
}
