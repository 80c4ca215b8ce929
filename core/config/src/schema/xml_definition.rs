//! Definitions in the style of XML Schema: each named element is a value, unless it contains other elements.

use convengine_text::json::schema::JsonSchema;
use convengine_text::value::TEMPLATE;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::{SchemaField, ValueKind, ValueSchema};

/// A tag: its local name and attributes.
struct Tag<'t> {
    name: &'t str,
    attributes: Vec<(&'t str, &'t str)>,
    is_closing: bool,
    is_self_closing: bool,
}

/// A parsed element.
struct Element<'t> {
    name: &'t str,
    type_name: Option<&'t str>,
    is_optional: bool,
    is_repeated: bool,
    options: Vec<Value>,
    /// Its facets and the format of its type, as keywords of JSON Schema.
    constraints: Map,
    has_children: bool,
}

/// Parses a definition into its values and their details for prompts. Adds what is wrong with constraints to `unchecked`.
///
/// # Errors
/// The reason why the definition is invalid.
pub(super) fn parse(text: &str, unchecked: &mut Vec<String>) -> Result<(Vec<SchemaField>, Map), String> {
    let elements: Vec<Element<'_>> = parse_elements(text)?.into_iter().filter(|it| !it.has_children).collect();
    if elements.is_empty() {
        return Err("has no named element".to_owned());
    }
    let mut fields: Vec<SchemaField> = Vec::new();
    let mut details = Map::new();
    for element in elements {
        if details.contains_key(element.name) {
            continue;
        }
        let options: Vec<String> = element.options.iter().map(|option| TEMPLATE.print(option).into_owned()).collect();
        details.insert(element.name.to_owned(), json!({"description": null, "type": element.type_name, "enumOptions": options}));
        let keywords = Value::Object(element.constraints.clone());
        let (constraints, problems) = JsonSchema::compile_constraints(&keywords, &keywords, &[]);
        unchecked.extend(problems.into_iter().map(|it| format!("'{}': {it}", element.name)));
        fields.push(SchemaField {
            name: element.name.to_owned(),
            description: None,
            required_position: (!element.is_optional).then_some(fields.len()),
            schema: ValueSchema { kinds: element.kinds(), options: element.options, constraints, ..ValueSchema::default() },
        });
    }
    Ok((fields, details))
}

fn parse_elements(text: &str) -> Result<Vec<Element<'_>>, String> {
    let mut found: Vec<Element<'_>> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut rest = text;
    while let Some((_, tail)) = rest.split_once('<') {
        if let Some(comment) = tail.strip_prefix("!--") {
            rest = comment.split_once("-->").map(|it| it.1).ok_or("has a comment that is not closed by '-->'")?;
            continue;
        }
        let (inside, after) = tail.split_once('>').ok_or("has a tag that is not closed by '>'")?;
        rest = after;
        let tag = parse_tag(inside);
        match tag.name {
            "element" if tag.is_closing => drop(open.pop()),
            "element" => {
                let element = parse_element(&tag);
                for outer in open.iter().flatten() {
                    if let Some(outer) = found.get_mut(*outer) {
                        outer.has_children = true;
                    }
                }
                if !tag.is_self_closing {
                    open.push(element.as_ref().map(|_| found.len()));
                }
                found.extend(element);
            }
            "enumeration" => {
                let holder = open.last().copied().flatten().and_then(|it| found.get_mut(it));
                if let (Some(holder), Some(value)) = (holder, tag.attribute("value")) {
                    holder.options.push(Value::from(value));
                }
            }
            facet => {
                let holder = open.last().copied().flatten().and_then(|it| found.get_mut(it));
                if let (Some(holder), Some(value)) = (holder, tag.attribute("value")) {
                    holder.constraints.extend(facet_keywords(facet, value));
                }
            }
        }
    }
    Ok(found)
}

/// The keywords of JSON Schema that a facet is.
fn facet_keywords(facet: &str, value: &str) -> Vec<(String, Value)> {
    // Text that is no number makes a keyword that is reported.
    let number = || serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    let keywords = match facet {
        // Patterns of XML Schema match whole values.
        "pattern" => vec![("pattern", Value::from(format!("^(?:{value})$")))],
        "length" => vec![("minLength", number()), ("maxLength", number())],
        "minLength" => vec![("minLength", number())],
        "maxLength" => vec![("maxLength", number())],
        "minInclusive" => vec![("minimum", number())],
        "maxInclusive" => vec![("maximum", number())],
        "minExclusive" => vec![("exclusiveMinimum", number())],
        "maxExclusive" => vec![("exclusiveMaximum", number())],
        _ => Vec::new(),
    };
    keywords.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn parse_tag(inside: &str) -> Tag<'_> {
    let closing = inside.starts_with('/');
    let inside = inside.trim_start_matches('/');
    let empty = inside.ends_with('/');
    let inside = inside.trim_end_matches('/');
    let (name, mut rest) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
    let mut attributes = Vec::new();
    while let Some((key, value)) = rest.split_once('=') {
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|it| ['"', '\''].contains(it)) else { break };
        let Some((value, after)) = value.get(1..).and_then(|it| it.split_once(quote)) else { break };
        attributes.push((key.trim(), value.trim()));
        rest = after;
    }
    Tag { name: local_name(name), attributes, is_closing: closing, is_self_closing: empty }
}

/// A name without its namespace.
fn local_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn parse_element<'t>(tag: &Tag<'t>) -> Option<Element<'t>> {
    let format = match local_name(tag.attribute("type").unwrap_or_default()) {
        "date" => Some("date"),
        "dateTime" => Some("date-time"),
        "time" => Some("time"),
        "anyURI" => Some("uri"),
        _ => None,
    };
    Some(Element {
        constraints: format.map(|format| ("format".to_owned(), Value::from(format))).into_iter().collect(),
        name: tag.attribute("name").filter(|it| !it.is_empty())?,
        type_name: tag.attribute("type"),
        is_optional: tag.attribute("minOccurs") == Some("0"),
        is_repeated: tag.attribute("maxOccurs").is_some_and(|it| it != "1"),
        options: Vec::new(),
        has_children: false,
    })
}

impl<'t> Tag<'t> {
    fn attribute(&self, name: &str) -> Option<&'t str> {
        self.attributes.iter().find(|it| it.0 == name).map(|it| it.1)
    }
}

impl Element<'_> {
    /// The kinds of its type; a type defined elsewhere in the definition leaves the value unchecked.
    fn kinds(&self) -> Vec<ValueKind> {
        if self.is_repeated {
            return vec![ValueKind::Array];
        }
        let kind = match local_name(self.type_name.unwrap_or_default()) {
            "string" | "normalizedString" | "token" | "date" | "dateTime" | "time" | "anyURI" => ValueKind::String,
            "int" | "integer" | "long" | "short" | "byte" | "positiveInteger" | "nonNegativeInteger" => ValueKind::Integer,
            "decimal" | "double" | "float" => ValueKind::Number,
            "boolean" => ValueKind::Boolean,
            _ => return Vec::new(),
        };
        vec![kind]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_values_unless_they_have_children() {
        let text = r#"<?xml version="1.0"?><xs:schema><!-- <element name="old"/> -->
            <xs:element name="loan"><xs:complexType><xs:sequence>
              <xs:element name="amount" type="xs:decimal"/>
              <xs:element minOccurs='0' type='xs:string' name='note'></xs:element>
              <xs:element name="term" maxOccurs="unbounded" type="xs:int" />
              <xs:element name="purpose"><xs:simpleType><xs:restriction base="xs:string">
                <xs:enumeration value="CAR"/><xs:enumeration value="HOME"/></xs:restriction></xs:simpleType></xs:element>
              <xs:element name="amount" type="xs:int"/><xs:element ref="other"/>
            </xs:sequence></xs:complexType></xs:element></xs:schema>"#;
        let (fields, details) = parse(text, &mut Vec::new()).unwrap();
        let seen: Vec<(&str, bool, &[ValueKind])> =
            fields.iter().map(|field| (field.name.as_str(), field.required_position.is_some(), field.schema.kinds.as_slice())).collect();
        let expected: [(&str, bool, &[ValueKind]); 4] = [
            ("amount", true, &[ValueKind::Number]),
            ("note", false, &[ValueKind::String]),
            ("term", true, &[ValueKind::Array]),
            ("purpose", true, &[]),
        ];
        assert_eq!(seen, expected);
        assert_eq!(details["purpose"], json!({"description": null, "type": null, "enumOptions": ["CAR", "HOME"]}));
        assert_eq!(details["amount"]["type"], "xs:decimal");
    }
}
