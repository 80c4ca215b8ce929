//! Builds spans of effects according to the OpenTelemetry semantic conventions for generative AI.

use std::time::SystemTime;

use convengine_core::turn::{Effect, EffectResult, HttpCaller, Reply, Request};
use convengine_host_base::trace_ids;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use convengine_host_base::metric_names::attribute;

use convengine_host_base::meter;

/// Maximum length of an externally supplied name.
const MAX_NAME_LENGTH: usize = 64;

/// The name, kind and attributes of a span.
#[derive(Debug)]
pub struct SpanDescription {
    /// The span name.
    pub name: String,
    /// The span kind.
    pub kind: SpanKind,
    /// The attributes.
    pub attributes: Vec<KeyValue>,
}

/// Builds a finished span in the trace of the key's turn.
pub fn build_span(key: &str, parent: SpanId, named: SpanDescription, start: SystemTime, failed: Option<&'static str>) -> SpanData {
    let SpanDescription { name, kind, mut attributes } = named;
    attributes.extend(failed.map(|it| KeyValue::new(attribute::ERROR, it)));
    let trace = trace_ids::trace_id(trace_ids::turn_id(key));
    SpanData {
        span_context: SpanContext::new(trace, trace_ids::span_id(key), TraceFlags::SAMPLED, false, TraceState::NONE),
        parent_span_id: parent,
        parent_span_is_remote: false,
        span_kind: kind,
        name: name.into(),
        start_time: start,
        end_time: SystemTime::now(),
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: failed.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder("convengine").with_version(env!("CARGO_PKG_VERSION")).build(),
    }
}

/// Builds the span of an answered effect; `model` is the provider and model of a model call.
pub fn effect_span(effect: &Effect, answer: &EffectResult, model: Option<(&str, &str)>, from: SystemTime) -> SpanData {
    let failed = Some(meter::answer_outcome(answer)).filter(|it| *it != "ok");
    let mut description = describe_request(&effect.request, model);
    description.attributes.push(KeyValue::new(attribute::KIND, meter::effect_kind(&effect.request)));
    match answer {
        EffectResult::Ok(Reply::Llm(reply)) => {
            description.attributes.push(KeyValue::new(attribute::RESPONSE_MODEL, reply.model.clone()));
            let of_usage = |usage: &convengine_core::turn::Usage| {
                let number = |name: &'static str, it: u64| KeyValue::new(name, i64::try_from(it).unwrap_or(i64::MAX));
                let cost = usage.cost_micros.map(|it| number(attribute::COST, it));
                [number(attribute::INPUT_TOKENS, usage.input_tokens), number(attribute::OUTPUT_TOKENS, usage.output_tokens)]
                    .into_iter()
                    .chain(cost)
            };
            description.attributes.extend(reply.usage.iter().flat_map(of_usage));
        }
        EffectResult::Ok(Reply::Http(reply)) => description.attributes.push(KeyValue::new(attribute::STATUS, i64::from(reply.status))),
        EffectResult::Error(error) => {
            description.attributes.extend(error.status.map(|status| KeyValue::new(attribute::STATUS, i64::from(status))));
        }
        EffectResult::Ok(_) => {}
    }
    build_span(&effect.key, trace_ids::span_id(trace_ids::turn_id(&effect.key)), description, from, failed)
}

fn describe_request(request: &Request, provider_and_model: Option<(&str, &str)>) -> SpanDescription {
    let (provider, model) = provider_and_model.unwrap_or(("none", "none"));
    let model_attributes = |operation: &'static str| {
        vec![
            KeyValue::new(attribute::OPERATION, operation),
            KeyValue::new(attribute::PROVIDER, provider.to_owned()),
            KeyValue::new(attribute::SYSTEM, provider.to_owned()),
            KeyValue::new(attribute::REQUEST_MODEL, model.to_owned()),
        ]
    };
    let tool_span = |tool: &str, kind| SpanDescription {
        name: format!("execute_tool {}", sanitize_name(tool)),
        kind,
        attributes: vec![KeyValue::new(attribute::OPERATION, "execute_tool"), KeyValue::new(attribute::TOOL, sanitize_name(tool))],
    };
    let other = |name: String, kind| SpanDescription { name, kind, attributes: Vec::new() };
    match request {
        Request::Llm(request) => {
            let mut attributes = model_attributes("chat");
            attributes.push(KeyValue::new(attribute::PURPOSE, sanitize_name(&request.purpose)));
            SpanDescription { name: format!("chat {model}"), kind: SpanKind::Client, attributes }
        }
        Request::Embed(_) | Request::PhraseSearch(_) => {
            SpanDescription { name: format!("embeddings {model}"), kind: SpanKind::Client, attributes: model_attributes("embeddings") }
        }
        Request::Tool(request) => tool_span(request.tool_code.as_deref().unwrap_or(&request.tool_group), SpanKind::Internal),
        Request::Sql(request) => tool_span(&request.tool_code, SpanKind::Client),
        Request::Http(request) => match &request.caller {
            HttpCaller::Tool(code) => tool_span(code, SpanKind::Client),
            HttpCaller::Task(task) => other(format!("task {}", sanitize_name(task)), SpanKind::Client),
            HttpCaller::Extension(name) => other(format!("extension {}", sanitize_name(name)), SpanKind::Client),
            HttpCaller::Notify(channel) => other(format!("notify {}", sanitize_name(channel)), SpanKind::Client),
            HttpCaller::Handoff(call) => other(format!("handoff {}", sanitize_name(call)), SpanKind::Client),
        },
        Request::Task(request) => other(format!("task {}", sanitize_name(&request.task)), SpanKind::Internal),
        Request::Extension(request) => other(format!("extension {}", sanitize_name(&request.extension)), SpanKind::Internal),
        Request::Container(_) => other("container".to_owned(), SpanKind::Client),
        Request::Knowledge(_) => other("knowledge search".to_owned(), SpanKind::Internal),
        Request::Script(_) => other("script".to_owned(), SpanKind::Internal),
        Request::Sleep(_) => other("sleep".to_owned(), SpanKind::Internal),
    }
}

/// Returns a name if it looks like an identifier, else `other`: users may choose some names, and user text must not be exported.
fn sanitize_name(name: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | ':' | '-');
    let fits = !name.is_empty() && name.len() <= MAX_NAME_LENGTH && name.chars().all(is_plain);
    if fits { name.to_owned() } else { "other".to_owned() }
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::{EffectClass, EffectError, EffectErrorKind, EffectId, LlmReply, Usage};

    use super::*;
    use serde_json::json;

    fn effect(request: serde_json::Value) -> Effect {
        let request = serde_json::from_value(request).expect("a request");
        Effect {
            id: EffectId(2),
            key: "t/2".to_owned(),
            class: EffectClass::Read,
            deadline_ms: 1,
            stream: false,
            repeatable: false,
            request,
        }
    }

    fn text(span: &SpanData) -> String {
        let attributes: Vec<String> = span.attributes.iter().map(|it| format!("{}={}", it.key, it.value)).collect();
        format!("{} {}", span.name, attributes.join(" "))
    }

    #[test]
    fn a_model_call_follows_the_conventions_without_user_text() {
        let call = effect(
            json!({"kind": "llm", "purpose": "agent", "mode": "text", "system": "hidden", "user": "hidden", "context": {}, "user_text": "hidden"}),
        );
        let usage = Some(Usage { input_tokens: 7, output_tokens: 3, cost_micros: None });
        let reply =
            LlmReply { text: "hidden".to_owned(), provider: "openai".to_owned(), model: "m-2026".to_owned(), usage, ..LlmReply::default() };
        let span = effect_span(&call, &EffectResult::Ok(Reply::Llm(reply)), Some(("openai", "m")), SystemTime::now());
        assert_eq!(
            text(&span),
            "chat m gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.system=openai gen_ai.request.model=m \
             convengine.model.purpose=agent convengine.effect.kind=llm gen_ai.response.model=m-2026 gen_ai.usage.input_tokens=7 \
             gen_ai.usage.output_tokens=3"
        );
        assert_eq!((span.parent_span_id, span.span_context.span_id()), (trace_ids::span_id("t"), trace_ids::span_id("t/2")));
        let failed = EffectResult::Error(EffectError::new(EffectErrorKind::Timeout, "hidden"));
        let span = effect_span(&call, &failed, None, SystemTime::now());
        assert!(
            text(&span).ends_with("error.type=timeout")
                && span.status == Status::error("timeout")
                && !format!("{span:?}").contains("hidden")
        );
    }

    #[test]
    fn invalid_names_are_not_exported() {
        for (tool, name) in
            [("crm.find", "execute_tool crm.find"), ("my card is 4111 1111", "execute_tool other"), ("", "execute_tool other")]
        {
            let call = effect(json!({"kind": "tool", "tool_code": tool, "tool_group": "G", "args": {"a": "hidden"}}));
            let failed = EffectResult::Error(EffectError::new(EffectErrorKind::NotFound, "hidden"));
            let span = effect_span(&call, &failed, None, SystemTime::now());
            assert_eq!(span.name, name);
            assert!(!format!("{span:?}").contains("hidden"));
        }
    }
}
