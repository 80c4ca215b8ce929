//! Renders HTTP requests from templates, for any program: what can be read by name is up to the program.

use convengine_config::flow::document::{FlowTemplate, HttpRequestDef, ValueTemplate};
use convengine_text::interpolation::{Interpolated, OutputContext, TextWithSecrets};
use convengine_text::names::NameResolver;
use convengine_text::url::percent_encode;
use convengine_turn::{EffectClass, HttpCaller, HttpRequest};
use serde_json::Value;

use super::failure::Failure;

/// Default timeout in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u32 = 10_000;

/// The header of the idempotency key.
pub const IDEMPOTENCY_HEADER: &str = "Idempotency-Key";

/// The header of the request signature.
pub const SIGNATURE_HEADER: &str = "X-Convoship-Signature";

/// The text before the signature.
pub const SIGNATURE_PREFIX: &str = "sha256=";

/// Content type of JSON.
const JSON_TYPE: &str = "application/json";

/// Content type of multipart forms.
const MULTIPART_TYPE: &str = "multipart/form-data";

/// A request that posts JSON, and may be repeated.
pub fn post_json(url: String, caller: HttpCaller, body: String) -> HttpRequest {
    HttpRequest {
        caller,
        method: "POST".to_owned(),
        url,
        headers: vec![("Content-Type".to_owned(), JSON_TYPE.to_owned())],
        body: Some(body),
        auth: None,
        connect_timeout_ms: DEFAULT_TIMEOUT_MS,
        timeout_ms: DEFAULT_TIMEOUT_MS,
        max_bytes: 0,
        class: EffectClass::Write,
        idempotent: true,
        key: None,
        breaker: None,
        secrets: Vec::new(),
        sign: None,
    }
}

/// Renders requests with the names of a program.
pub struct RequestRenderer<'n> {
    names: &'n dyn NameResolver,
    /// The undefined names of each rendered part.
    pub undefined: Vec<Vec<String>>,
}

impl<'n> RequestRenderer<'n> {
    /// Creates a renderer.
    pub fn new(names: &'n dyn NameResolver) -> RequestRenderer<'n> {
        RequestRenderer { names, undefined: Vec::new() }
    }

    /// Renders a request; `omits_key` leaves out the idempotency header of the document.
    ///
    /// # Errors
    /// `template_undefined` when a name of the path or of a header is not defined, `url_unsafe` when a value would change where the URL leads.
    pub fn render(&mut self, definition: &HttpRequestDef, caller: HttpCaller, omits_key: bool) -> Result<HttpRequest, Failure> {
        let mut secrets = Vec::new();
        let mut url = self.render_url(&definition.url)?;
        record_secrets(&mut secrets, "url", &url);
        for (name, value) in &definition.query {
            url.text.push(if url.text.contains('?') { '&' } else { '?' });
            url.text.push_str(&percent_encode(name));
            url.text.push('=');
            let value = self.render_part(value, OutputContext::Query, false)?;
            let start = url.text.len();
            secrets.extend(value.secrets.iter().map(|(at, secret)| format!("url {} {secret}", start + at)));
            url.text.push_str(&value.text);
        }
        let mut headers = Vec::new();
        for (name, value) in definition.headers.iter().filter(|(name, _)| !omits_key || !name.eq_ignore_ascii_case(IDEMPOTENCY_HEADER)) {
            let value = self.render_part(value, OutputContext::Header, true)?;
            record_secrets(&mut secrets, &headers.len().to_string(), &value);
            headers.push((name.clone(), value.text));
        }
        let mut body = None;
        if let Some(filling) = &definition.body
            && definition.body_type.as_deref() != Some("none")
        {
            let RenderedBody { content, content_type, part } = self.render_body(filling, definition.body_type.as_deref());
            record_secrets(&mut secrets, part, &content);
            let declared = headers.iter_mut().find(|header: &&mut (String, String)| header.0.eq_ignore_ascii_case("content-type"));
            match declared {
                // Only this value has the boundary.
                Some(header) if content_type.starts_with(MULTIPART_TYPE) => header.1 = content_type,
                Some(_) => {}
                None => headers.push(("Content-Type".to_owned(), content_type)),
            }
            body = Some(content.text);
        }
        Ok(HttpRequest {
            caller,
            method: definition.method.clone(),
            url: url.text,
            headers,
            body,
            auth: None,
            connect_timeout_ms: DEFAULT_TIMEOUT_MS,
            timeout_ms: DEFAULT_TIMEOUT_MS,
            max_bytes: 0,
            class: EffectClass::Read,
            idempotent: false,
            key: None,
            breaker: None,
            secrets,
            sign: None,
        })
    }

    /// Renders a URL; names of its query may be undefined.
    ///
    /// # Errors
    /// `template_undefined` and `url_unsafe`.
    pub fn render_url(&mut self, template: &FlowTemplate) -> Result<TextWithSecrets, Failure> {
        let Ok(interpolation) = &template.compiled else {
            return Err(Failure::new("template_undefined", format!("the template '{}' cannot be read", template.source)));
        };
        let rendered = interpolation.render_request_url(self.names).map_err(|reason| Failure::new("url_unsafe", reason))?;
        let failure = rendered.undefined_in_path.first().map(|name| Failure::new("template_undefined", format!("'{name}' is not defined")));
        self.undefined.extend([rendered.undefined_in_path, rendered.undefined_in_query]);
        failure.map_or(Ok(rendered.url), Err)
    }

    /// Renders a part of a request; with `strict`, an undefined name is an error.
    ///
    /// # Errors
    /// `template_undefined`.
    pub fn render_part(&mut self, template: &FlowTemplate, place: OutputContext, strict: bool) -> Result<TextWithSecrets, Failure> {
        let Ok(interpolation) = &template.compiled else {
            return Err(Failure::new("template_undefined", format!("the template '{}' cannot be read", template.source)));
        };
        let Interpolated { output: part, undefined } = interpolation.render_with_secrets(self.names, place);
        let failure =
            undefined.first().filter(|_| strict).map(|name| Failure::new("template_undefined", format!("'{name}' is not defined")));
        self.undefined.push(undefined);
        failure.map_or(Ok(part), Err)
    }

    /// Renders the body of a request.
    fn render_body(&mut self, template: &ValueTemplate, body_type: Option<&str>) -> RenderedBody {
        let Ok(tree) = &template.compiled else {
            let content = TextWithSecrets { text: template.source.to_string(), secrets: Vec::new() };
            return RenderedBody { content, content_type: JSON_TYPE.to_owned(), part: "json" };
        };
        let names = self.names;
        let (rendered, content_type, part) = match (body_type, &template.source) {
            (Some("form"), _) => (tree.render_form(names), "application/x-www-form-urlencoded".to_owned(), "form"),
            (Some("multipart"), _) => {
                let Interpolated { output: members, undefined } = tree.render_members(names);
                let (body, boundary) = encode_multipart(members);
                (Interpolated { output: body, undefined }, format!("{MULTIPART_TYPE}; boundary={boundary}"), "body")
            }
            (Some("text") | None, Value::String(source)) => {
                (render_plain_text(source, names), "text/plain; charset=utf-8".to_owned(), "body")
            }
            // A text is JSON already, unless it is a single placeholder, whose value is converted to JSON.
            _ => (tree.render_text(names).unwrap_or_else(|| tree.render_with_secrets(names)), JSON_TYPE.to_owned(), "json"),
        };
        self.undefined.push(rendered.undefined);
        RenderedBody { content: rendered.output, content_type, part }
    }
}

fn record_secrets(secrets: &mut Vec<String>, part: &str, content: &TextWithSecrets) {
    secrets.extend(content.secrets.iter().map(|(at, secret)| format!("{part} {at} {secret}")));
}

/// A rendered body.
struct RenderedBody {
    content: TextWithSecrets,
    content_type: String,
    /// How secrets are escaped in it: as JSON (`json`), form-encoded (`form`), or not at all (`body`).
    part: &'static str,
}

/// Encodes a multipart form (RFC 7578). Returns the body and its boundary, which is a hash of all parts.
fn encode_multipart(members: Vec<(&str, TextWithSecrets)>) -> (TextWithSecrets, String) {
    let escape_name = |name: &str| name.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22");
    let mut hash = convengine_text::json::canonical::Hasher::default();
    for (name, value) in &members {
        hash.add_json(&serde_json::json!([name, value.text]));
    }
    let boundary = format!("part-{:.32}", hash.finish());
    let mut body = TextWithSecrets::default();
    for (member, value) in members {
        body.text.push_str(&format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n", escape_name(member)));
        let start = body.text.len();
        body.secrets.extend(value.secrets.into_iter().map(|(at, secret)| (start + at, secret)));
        body.text.push_str(&value.text);
        body.text.push_str("\r\n");
    }
    body.text.push_str(&format!("--{boundary}--\r\n"));
    (body, boundary)
}

fn render_plain_text(source: &str, names: &dyn NameResolver) -> Interpolated<TextWithSecrets> {
    convengine_text::interpolation::Interpolation::parse(source)
        .map(|it| it.render_with_secrets(names, OutputContext::Text))
        .unwrap_or_default()
}
