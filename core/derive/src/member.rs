//! A field as a member: its description, and the expression that reads it.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Field, GenericArgument, Lit, LitStr, PathArguments, Result, Type};

use crate::attributes::{MemberAttributes, doc_comment};

/// A field of a struct or of a variant.
pub struct Member<'f> {
    pub field: &'f Field,
    pub attributes: MemberAttributes,
}

impl<'f> Member<'f> {
    /// Reads the attributes of a field.
    pub fn new(field: &'f Field) -> Result<Member<'f>> {
        let attributes = MemberAttributes::read(&field.attrs)?;
        let of = attributes.from.as_ref().unwrap_or_else(|| argument_of(&field.ty, "Option").unwrap_or(&field.ty));
        let is_option = argument_of(&field.ty, "Option").is_some();
        if is_option && (attributes.default.is_some() || attributes.default_json.is_some()) {
            return Err(Error::new_spanned(field, "an `Option` has no default; expected `documented_default`"));
        }
        if (attributes.items.is_some() || attributes.unique.is_some()) && argument_of(of, "Vec").is_none() {
            return Err(Error::new_spanned(field, "`items` and `unique` are for lists"));
        }
        Ok(Member { field, attributes })
    }

    /// Its name in documents.
    pub fn name(&self) -> String {
        let field = || self.field.ident.as_ref().map(|ident| ident.to_string().trim_start_matches("r#").to_owned()).unwrap_or_default();
        self.attributes.name.as_ref().map_or_else(field, LitStr::value)
    }

    /// The type as which it is read; that within an `Option`.
    fn type_read(&self) -> &Type {
        self.attributes.from.as_ref().unwrap_or_else(|| argument_of(&self.field.ty, "Option").unwrap_or(&self.field.ty))
    }

    /// The expression of its `MemberShape`.
    pub fn describe(&self) -> TokenStream {
        let MemberAttributes { is_required, title, example, roots, roots_need, meaning, shown_if, is_multiline, .. } = &self.attributes;
        let (name, shape, default, help) = (self.name(), self.shape(), self.published_default(), doc_comment(&self.field.attrs));
        let title = title.as_ref().map_or_else(|| title_of(&name), LitStr::value);
        let example = example.as_ref().map(LitStr::value).unwrap_or_default();
        let meaning = match meaning {
            Some(meaning) => quote!(Some({
                #[allow(unused_imports, reason = "one of many is used")]
                use crate::flow::shape::{Meaning::*, Target::*, TextUse::*};
                #meaning
            })),
            None => quote!(None),
        };
        let roots_need = match roots_need {
            Some(member) => quote!(Some(#member)),
            None => quote!(None),
        };
        let shown_if = match shown_if {
            Some((member, value)) => {
                let json = json_of(value);
                quote!(Some((#member, #json)))
            }
            None => quote!(None),
        };
        let word_help = self.word_help();
        quote!(crate::flow::shape::MemberShape {
            name: #name,
            shape: #shape,
            is_required: #is_required,
            default: #default,
            title: #title,
            help: #help,
            example: #example,
            meaning: #meaning,
            roots: &[#(#roots),*],
            roots_need: #roots_need,
            shown_if: #shown_if,
            is_multiline: #is_multiline,
            word_help: #word_help,
        })
    }

    fn shape(&self) -> TokenStream {
        let MemberAttributes { shape, each, items, unique, codes, .. } = &self.attributes;
        let read = self.type_read();
        let of_type = |it: &dyn ToTokens| quote!(<#it as crate::flow::shape::Described>::SHAPE);
        let scoped = |tokens: &dyn ToTokens| {
            quote!({
                #[allow(unused_imports, reason = "some of many are used")]
                use crate::flow::shape::vocabulary::*;
                #tokens
            })
        };
        let item = || match (each, argument_of(read, "Vec")) {
            (Some(each), _) => scoped(each),
            (None, Some(item)) => of_type(item),
            (None, None) => of_type(read),
        };
        let is_list = argument_of(read, "Vec").is_some();
        let plain = match (shape, each) {
            (Some(shape), _) => scoped(shape),
            (None, each) if is_list && (each.is_some() || items.is_some() || unique.is_some()) => {
                let (item, keys) = (item(), unique.as_ref().map_or_else(|| quote!(None), |it| quote!(#it)));
                let (least, most) = match items {
                    Some((least, most)) => (quote!(#least), scoped(most)),
                    None => (quote!(0), quote!(crate::flow::shape::NO_MAX_LENGTH)),
                };
                quote!(crate::flow::shape::Shape::List(&crate::flow::shape::List {
                    item: #item,
                    min: #least,
                    max: #most,
                    keys: crate::flow::shape::UniqueBy::#keys,
                }))
            }
            (None, Some(_)) => {
                let of = item();
                quote!(crate::flow::shape::Shape::Map(&#of))
            }
            (None, None) => of_type(read),
        };
        match codes {
            Some((below, above)) => quote!(crate::flow::shape::Shape::Bounded(&crate::flow::shape::BoundedShape {
                shape: #plain,
                below: #below,
                above: #above,
            })),
            None => plain,
        }
    }

    /// What its words mean, where its type says which words it allows.
    fn word_help(&self) -> TokenStream {
        let MemberAttributes { shape, each, .. } = &self.attributes;
        if shape.is_some() || each.is_some() {
            return quote!(&[]);
        }
        let read = self.type_read();
        quote!(<#read as crate::flow::shape::Described>::WORD_HELP)
    }

    /// The default that the schema publishes, as JSON: the declared one, or that of the type.
    fn published_default(&self) -> TokenStream {
        let MemberAttributes { default, default_json, documented_default, is_required, from, .. } = &self.attributes;
        if *is_required {
            return quote!("");
        }
        if let Some(json) = documented_default.as_ref().or(default_json.as_ref()) {
            return quote!(#json);
        }
        match default {
            Some(default) => json_of(default).to_token_stream(),
            None if from.is_some() || argument_of(&self.field.ty, "Option").is_some() => quote!(""),
            None => {
                let read = self.type_read();
                quote!(<#read as crate::flow::shape::Described>::DEFAULT)
            }
        }
    }

    /// The expression that reads it from `fields`.
    pub fn read(&self) -> TokenStream {
        let (name, of, attributes) = (self.name(), self.type_read(), &self.attributes);
        let described = quote!(crate::flow::shape::Described);
        let found = if attributes.keeps_null { quote!(fields.value_or_null(#name)) } else { quote!(fields.value(#name)) };
        let read = quote!(#found.and_then(<#of as #described>::read));
        let is_option = argument_of(&self.field.ty, "Option").is_some();
        let absent = match (&attributes.default, &attributes.default_json) {
            (Some(Lit::Str(text)), _) => quote!(crate::flow::shape::read_text::<#of>(#text)),
            (Some(other), _) => quote!(#other),
            (None, Some(json)) => quote!(crate::flow::shape::read_json::<#of>(#json)),
            (None, None) => quote!(<#of as crate::flow::shape::Absent>::absent()),
        };
        match (&attributes.from, is_option) {
            (Some(_), true) => quote!(#read.map(Into::into)),
            (None, true) => read,
            (Some(_), false) => quote!(#read.unwrap_or_else(|| #absent).into()),
            (None, false) => quote!(#read.unwrap_or_else(|| #absent)),
        }
    }
}

/// The argument of a generic type: `T` of `Vec<T>`.
pub fn argument_of<'t>(of: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last().filter(|it| it.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|generic| if let GenericArgument::Type(argument) = generic { Some(argument) } else { None })
}

/// A literal as JSON.
fn json_of(literal: &Lit) -> String {
    match literal {
        Lit::Str(text) => format!("\"{}\"", text.value().replace('\\', "\\\\").replace('"', "\\\"")),
        Lit::Int(number) => number.base10_digits().to_owned(),
        Lit::Float(number) => number.base10_digits().to_owned(),
        other => other.to_token_stream().to_string(),
    }
}

/// A label for people: `max_attempts` as `Max attempts`, `typing_ms` as `Typing in ms`.
fn title_of(name: &str) -> String {
    let words = match name.strip_suffix("_ms") {
        Some(measured) => format!("{measured} in ms"),
        None => name.to_owned(),
    };
    let words = words.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map(|letter| letter.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
