//! HTTP calls described by rows: `ce_http_tool` and the binding of a task. (docs/spec/tools.md#3.1, docs/spec/tools.md#6.3)

use convengine_text::json::path::JsonPath;
use convengine_text::template::Template;
use convengine_turn::{STUB_ADDRESS, SecretHeader};
use serde_json::Value;

use super::args_template::ArgsTemplate;
use super::column::list_words;
use super::settings::HttpPolicy;

/// The methods of calls.
pub const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// Openings of template placeholders, which the origin of a URL must not contain.
const TEMPLATE_OPENINGS: [&str; 5] = ["{{", "#{", "[[", "[(", "[$"];

/// The columns that describe a call, as stored.
#[derive(Debug, Clone, Default)]
pub struct HttpCallSource {
    /// `method`; `GET` when it is blank.
    pub method: Option<String>,
    /// `url_template`
    pub url: Option<String>,
    /// `headers`: a JSON object of templates.
    pub headers: Option<String>,
    /// `query`: a JSON object of templates, or `args`.
    pub query: Option<String>,
    /// `body_template`: a JSON object of templates, or `args`.
    pub body: Option<String>,
    /// `auth_ref`: the name of a secret, or a JSON object.
    pub auth: Option<String>,
    /// `policy`: a JSON object of overrides of the default policy.
    pub policy: Option<String>,
    /// `response_mapping`: a mode, or a JSON object.
    pub mapping: Option<String>,
    /// `idempotent`
    pub idempotent: bool,
}

/// A compiled call.
#[derive(Debug, Clone)]
pub struct HttpCall {
    /// The method, in upper case.
    pub method: String,
    /// Scheme, host and port; always literal.
    pub origin: String,
    /// The path segments, each rendered and encoded separately.
    pub path: Vec<Template>,
    /// The query.
    pub query: ValueSource,
    /// Headers.
    pub headers: ArgsTemplate,
    /// The body; empty for methods without one.
    pub body: ValueSource,
    /// The header that carries a secret.
    pub auth: Option<SecretHeader>,
    /// Time-outs, attempts, circuit breaker.
    pub policy: HttpPolicy,
    /// How the response body becomes the result.
    pub mapping: ResponseMapping,
    /// Whether the call may be repeated.
    pub idempotent: bool,
}

/// The source of a query or body.
#[derive(Debug, Clone)]
pub enum ValueSource {
    /// No values.
    Empty,
    /// All arguments, unchanged.
    AllArguments,
    /// Rendered templates.
    Templates(ArgsTemplate),
}

/// How a response body becomes a result.
#[derive(Debug, Clone)]
pub enum ResponseMapping {
    /// The JSON value; a body that is not JSON becomes `{"text": …}`.
    RawJson,
    /// The value at a path.
    JsonPath(JsonPath),
    /// An object of the values at several paths.
    Fields(Vec<(String, JsonPath)>),
    /// The body as text.
    Text,
}

/// An invalid column and the reason.
pub type ColumnError = (&'static str, String);

impl HttpCall {
    /// Compiles a call.
    ///
    /// # Errors
    /// The invalid column and the reason.
    pub fn compile(source: &HttpCallSource, defaults: &HttpPolicy) -> Result<HttpCall, ColumnError> {
        let method = source.method.as_deref().map_or_else(|| "GET".to_owned(), |method| method.trim().to_uppercase());
        if !METHODS.contains(&method.as_str()) {
            return Err(("method", format!("'{method}' is not a method; use {}", list_words(&METHODS))));
        }
        let (origin, path, query) = parse_url(source.url.as_deref().unwrap_or_default()).map_err(|it| ("url_template", it))?;
        let has_body = !["GET", "HEAD", "DELETE"].contains(&method.as_str());
        let query = match (&source.query, query) {
            (Some(_), Some(_)) => return Err(("query", "stands beside a query in url_template; keep one of them".to_owned())),
            (Some(text), None) => parse_values(text).map_err(|it| ("query", it))?,
            (None, Some(args)) => ValueSource::Templates(args),
            (None, None) => ValueSource::Empty,
        };
        let body = match &source.body {
            Some(text) if has_body => parse_values(text).map_err(|it| ("body_template", it))?,
            None if has_body => ValueSource::AllArguments,
            Some(_) | None => ValueSource::Empty,
        };
        let policy =
            source.policy.as_deref().map(|overrides| defaults.with_overrides(&serde_json::from_str(overrides).unwrap_or_default()));
        Ok(HttpCall {
            path,
            query,
            headers: ArgsTemplate::compile(source.headers.as_deref().unwrap_or_default()).map_err(|it| ("headers", it))?,
            body,
            auth: source.auth.as_deref().map(parse_auth).transpose().map_err(|it| ("auth_ref", it))?.flatten(),
            policy: policy.transpose().map_err(|it| ("policy", it))?.unwrap_or_else(|| defaults.clone()),
            mapping: parse_mapping(source.mapping.as_deref().unwrap_or_default()).map_err(|it| ("response_mapping", it))?,
            idempotent: source.idempotent || method == "PUT" || method == "DELETE" || !has_body,
            method,
            origin,
        })
    }
}

/// Splits a URL into its literal origin, path segments and query templates.
fn parse_url(text: &str) -> Result<(String, Vec<Template>, Option<ArgsTemplate>), String> {
    let text = text.trim();
    let start = ["http://", "https://", STUB_ADDRESS].iter().find(|it| text.starts_with(*it)).map(|it| it.len());
    let Some(start) = start else { return Err("begins with neither http:// nor https://".to_owned()) };
    let after = text.get(start..).unwrap_or_default();
    let end = start + after.find(['/', '?']).unwrap_or(after.len());
    let (origin, rest) = text.split_at(end);
    if origin.len() == start && !origin.starts_with('$') {
        return Err("names no host".to_owned());
    }
    if TEMPLATE_OPENINGS.iter().any(|it| origin.contains(it)) || origin.contains('@') {
        return Err("has a value or a user in its host; only path and query can be filled".to_owned());
    }
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let path = path.split('/').skip(1).map(Template::compile).collect::<Result<_, _>>()?;
    Ok((origin.to_owned(), path, query.map(parse_query).transpose()?))
}

/// The query of a URL as templates by name.
fn parse_query(query: &str) -> Result<ArgsTemplate, String> {
    let pairs = query.split('&').filter(|it| !it.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let members = pairs.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    ArgsTemplate::compile(&Value::Object(members).to_string())
}

fn parse_values(text: &str) -> Result<ValueSource, String> {
    if text.trim().eq_ignore_ascii_case("args") {
        Ok(ValueSource::AllArguments)
    } else {
        ArgsTemplate::compile(text).map(ValueSource::Templates)
    }
}

/// Parses the name of a secret, or `{"type", "header", "prefix", "secret"}`.
fn parse_auth(text: &str) -> Result<Option<SecretHeader>, String> {
    let text = text.trim();
    if !text.starts_with('{') {
        return Ok(Some(SecretHeader::bearer(text)));
    }
    let value: Value = serde_json::from_str(text).map_err(|it| format!("is not a JSON object: {it}"))?;
    let member = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = member("type").map_or_else(|| "BEARER_STATIC".to_owned(), |it| it.to_uppercase());
    let (header, prefix) = match kind.as_str() {
        "NONE" => return Ok(None),
        "API_KEY" => ("X-API-KEY", ""),
        "BEARER" | "BEARER_STATIC" => ("Authorization", "Bearer "),
        _ => return Err(format!("has the type '{kind}'; use NONE, API_KEY or BEARER_STATIC")),
    };
    let Some(secret) = member("secret") else { return Err("names no 'secret'".to_owned()) };
    let header = member("header").or_else(|| member("headerName")).unwrap_or_else(|| header.to_owned());
    Ok(Some(SecretHeader::new(header, member("prefix").unwrap_or_else(|| prefix.to_owned()), secret)))
}

/// Parses a mode, or `{"mode", "path", "fields"}`.
fn parse_mapping(text: &str) -> Result<ResponseMapping, String> {
    let text = text.trim();
    let value: Value = if text.starts_with('{') {
        serde_json::from_str(text).map_err(|it| format!("is not a JSON object: {it}"))?
    } else {
        serde_json::json!({"mode": text})
    };
    let member = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    match member("mode").to_uppercase().as_str() {
        "" | "RAW" | "RAW_JSON" => Ok(ResponseMapping::RawJson),
        "TEXT" => Ok(ResponseMapping::Text),
        // As in the original, a blank path selects the whole body.
        "JSON_PATH" if member("path").is_empty() => Ok(ResponseMapping::RawJson),
        "JSON_PATH" => JsonPath::compile(member("path")).map(ResponseMapping::JsonPath),
        "FIELD_TEMPLATE" => {
            let fields = value.get("fields").and_then(Value::as_object).ok_or("has no object 'fields'")?;
            let field = |(name, path): (&String, &Value)| {
                let path = path.as_str().map(str::trim).filter(|path| !path.is_empty() && !name.trim().is_empty())?;
                Some(JsonPath::compile(path).map(|path| (name.clone(), path)))
            };
            fields.iter().filter_map(field).collect::<Result<_, _>>().map(ResponseMapping::Fields)
        }
        other => Err(format!("has the mode '{other}'; use RAW_JSON, JSON_PATH, FIELD_TEMPLATE or TEXT")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Tables};
    use serde_json::json;

    fn compile(source: HttpCallSource) -> Result<HttpCall, ColumnError> {
        let defaults = Config::compile(&Tables::default(), &json!({})).0.settings.tools.http;
        HttpCall::compile(&source, &defaults)
    }

    fn with_url(url: &str) -> HttpCallSource {
        HttpCallSource { url: Some(url.to_owned()), ..HttpCallSource::default() }
    }

    #[test]
    fn nothing_can_be_filled_into_the_host() {
        for url in ["http://{{args.host}}/a", "https://a.#{b}.c", "https://user@host/", "http://", "ftp://a", "", "http://a[[${b}]]:80/"] {
            assert_eq!(compile(with_url(url)).unwrap_err().0, "url_template", "{url}");
        }
        let call = compile(with_url("https://crm.example:8443/v1/{{id}}/x?full=1&q={{q}}")).unwrap();
        assert_eq!((call.origin.as_str(), call.path.len(), call.method.as_str()), ("https://crm.example:8443", 3, "GET"));
        assert!(matches!(call.query, ValueSource::Templates(_)));
        assert_eq!(compile(with_url("${STUB}/parcels")).unwrap().origin, "${STUB}");
    }

    #[test]
    fn invalid_columns_are_named() {
        let with = |edit: fn(&mut HttpCallSource)| {
            let mut source = with_url("http://a/b?c=1");
            edit(&mut source);
            compile(source).unwrap_err().0
        };
        assert_eq!(with(|source| source.method = Some("FETCH".to_owned())), "method");
        assert_eq!(with(|source| source.query = Some("args".to_owned())), "query");
        assert_eq!(with(|source| source.headers = Some("[]".to_owned())), "headers");
        assert_eq!(with(|source| source.auth = Some("{\"type\": \"OAUTH\"}".to_owned())), "auth_ref");
        assert_eq!(with(|source| source.auth = Some("{\"type\": \"API_KEY\"}".to_owned())), "auth_ref");
        assert_eq!(with(|source| source.policy = Some("{\"tries\": 1}".to_owned())), "policy");
        assert_eq!(with(|source| source.mapping = Some("MAPPER_CLASS".to_owned())), "response_mapping");
    }

    #[test]
    fn a_secret_is_named_and_writing_calls_are_not_repeated_by_default() {
        let source = HttpCallSource { method: Some("post".to_owned()), auth: Some("crm".to_owned()), ..with_url("http://a/") };
        let call = compile(source).unwrap();
        assert_eq!((call.auth, call.idempotent), (Some(SecretHeader::bearer("crm")), false));
        assert!(matches!(call.body, ValueSource::AllArguments));
    }
}
