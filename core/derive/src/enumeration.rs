//! Enums: keywords, or the kinds of an object.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Error, Fields, Ident, Path, Result, Type, Variant};

use crate::attributes::{KindAttributes, TypeAttributes, doc_comment, snake_case};
use crate::member::{Member, argument_of};
use crate::structure::{member_lists, read_fields};

/// Implements the traits of keywords, or of the kinds of an object.
pub fn implement(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let attributes = TypeAttributes::read(&input.attrs)?;
    match &attributes.tag {
        Some(_) => implement_kinds(input, data, &attributes),
        None => implement_keywords(input, data, &attributes),
    }
}

fn implement_keywords(input: &DeriveInput, data: &DataEnum, attributes: &TypeAttributes) -> Result<TokenStream> {
    let name = &input.ident;
    let (mut words, mut help) = (Vec::new(), Vec::new());
    let mut default = None;
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(variant, "expected a variant without fields: the enum has no tag"));
        }
        let Some(kind) = KindAttributes::read(&variant.attrs)?.pop() else { continue };
        let word = kind_name(variant, &kind);
        if variant.attrs.iter().any(|attribute| attribute.path().is_ident("default")) {
            default = Some((format!("\"{word}\""), &variant.ident));
        }
        words.push((word, &variant.ident));
        help.push(doc_comment(&variant.attrs));
    }
    let (texts, variants): (Vec<_>, Vec<_>) = words.into_iter().unzip();
    let shape = attributes.define(quote!(crate::flow::shape::Shape::Enum(&[#(#texts),*])), &doc_comment(&input.attrs));
    let published = default.as_ref().map(|it| it.0.clone()).unwrap_or_default();
    let absent = default.map(|(_, variant)| {
        quote! {
            impl crate::flow::shape::Absent for #name {
                fn absent() -> Self {
                    #name::#variant
                }
            }
        }
    });
    Ok(quote! {
        impl crate::flow::shape::Described for #name {
            const SHAPE: crate::flow::shape::Shape = #shape;
            const DEFAULT: &'static str = #published;
            const WORD_HELP: &'static [&'static str] = &[#(#help),*];

            fn read(value: &serde_json::Value) -> Option<Self> {
                crate::flow::shape::Keyword::from_keyword(value.as_str()?)
            }
        }

        impl crate::flow::shape::Keyword for #name {
            fn keyword(&self) -> &'static str {
                match self {
                    #(#name::#variants => #texts),*
                }
            }

            fn from_keyword(text: &str) -> Option<Self> {
                match text {
                    #(#texts => Some(#name::#variants),)*
                    _ => None,
                }
            }
        }

        #absent
    })
}

fn implement_kinds(input: &DeriveInput, data: &DataEnum, attributes: &TypeAttributes) -> Result<TokenStream> {
    let (name, tag) = (&input.ident, &attributes.tag);
    let mut kinds = Vec::new();
    let mut reads = Vec::new();
    for variant in &data.variants {
        for kind in KindAttributes::read(&variant.attrs)? {
            let (word, help) = (kind_name(variant, &kind), doc_comment(&variant.attrs));
            let (lists, read) = match &attributes.content {
                Some(content) => content_of(variant, &kind, &content.value())?,
                None => members_of(variant)?,
            };
            kinds.push(quote!(crate::flow::shape::Kind { name: #word, help: #help, lists: #lists }));
            reads.push(quote!(#word => Some(#read)));
        }
    }
    let union = quote!(crate::flow::shape::Shape::Union(&crate::flow::shape::TaggedUnion {
        tag: <Self as crate::flow::shape::Kinds>::TAG,
        tag_help: "",
        common: &[],
        kinds: <Self as crate::flow::shape::Kinds>::KINDS,
    }));
    let shape = attributes.define(union, &doc_comment(&input.attrs));
    let converted = attributes.into.as_ref().map(|into| implement_into(name, data, into));
    let data = attributes.data.as_ref().map(|of| implement_data(name, data, of)).transpose()?;
    Ok(quote! {
        #data
        #converted

        impl crate::flow::shape::Kinds for #name {
            const TAG: &'static str = #tag;
            const KINDS: &'static [crate::flow::shape::Kind] = &[#(#kinds),*];

            fn read_kind(fields: crate::flow::shape::Fields<'_>) -> Option<Self> {
                match fields.text(#tag)? {
                    #(#reads,)*
                    _ => None,
                }
            }
        }

        impl crate::flow::shape::Described for #name {
            const SHAPE: crate::flow::shape::Shape = #shape;

            fn read(value: &serde_json::Value) -> Option<Self> {
                <Self as crate::flow::shape::Kinds>::read_kind(crate::flow::shape::Fields::of_object(value)?)
            }
        }
    })
}

/// The members of a kind that are beside its tag, and the expression that reads the variant.
fn members_of(variant: &Variant) -> Result<(TokenStream, TokenStream)> {
    let ident = &variant.ident;
    match &variant.fields {
        Fields::Unit => Ok((quote!(&[]), quote!(Self::#ident))),
        Fields::Named(fields) => {
            let members: Vec<Member<'_>> = fields.named.iter().map(Member::new).collect::<Result<_>>()?;
            let (lists, reads) = (member_lists(members.iter()), read_fields(&members));
            Ok((lists, quote!(Self::#ident { #reads })))
        }
        Fields::Unnamed(_) => {
            let of = only_field(variant)?;
            let read = quote!(<#of as crate::flow::shape::Members>::read_members(fields)?);
            Ok((quote!(<#of as crate::flow::shape::Members>::LISTS), quote!(Self::#ident(#read))))
        }
    }
}

/// The member that holds what a kind has of its own, and the expression that reads the variant.
fn content_of(variant: &Variant, kind: &KindAttributes, content: &str) -> Result<(TokenStream, TokenStream)> {
    let (ident, is_required) = (&variant.ident, !kind.is_optional);
    let (of, is_boxed) = match &kind.from {
        Some(from) => (from, false),
        None if matches!(variant.fields, Fields::Unit) => return Ok((quote!(&[]), quote!(Self::#ident))),
        None => {
            let of = only_field(variant)?;
            let boxed = argument_of(of, "Box");
            (boxed.unwrap_or(of), boxed.is_some())
        }
    };
    let lists = quote!(&[&[crate::flow::shape::MemberShape {
        is_required: #is_required,
        ..crate::flow::shape::MemberShape::new(#content, <#of as crate::flow::shape::Described>::SHAPE)
    }]]);
    let read = quote!(
        fields
            .object(#content)
            .and_then(<#of as crate::flow::shape::Members>::read_members)
            .unwrap_or_else(<#of as crate::flow::shape::Absent>::absent)
    );
    Ok((
        lists,
        match (&kind.from, is_boxed) {
            (Some(_), _) => quote!(Self::from(#read)),
            (None, true) => quote!(Self::#ident(Box::new(#read))),
            (None, false) => quote!(Self::#ident(#read)),
        },
    ))
}

/// The method `data`, which returns what a variant holds as the trait that all of them implement, and the conversions from that.
fn implement_data(name: &Ident, data: &DataEnum, of: &Path) -> Result<TokenStream> {
    let arms = data.variants.iter().map(|variant| {
        let ident = &variant.ident;
        let is_boxed = argument_of(only_field(variant)?, "Box").is_some();
        Ok(if is_boxed { quote!(#name::#ident(data) => &**data) } else { quote!(#name::#ident(data) => data) })
    });
    let arms = arms.collect::<Result<Vec<_>>>()?;
    let held = data.variants.iter().map(only_field).collect::<Result<Vec<_>>>()?;
    let variants = data.variants.iter().map(|variant| &variant.ident);
    Ok(quote! {
        impl #name {
            /// Its data, whatever the kind.
            pub fn data(&self) -> &dyn #of {
                match self {
                    #(#arms),*
                }
            }
        }

        #(impl From<#held> for #name {
            fn from(data: #held) -> Self {
                #name::#variants(data)
            }
        })*
    })
}

/// The conversion into another enum, which each variant leaves to what it holds.
fn implement_into(name: &Ident, data: &DataEnum, into: &Path) -> TokenStream {
    let variants = data.variants.iter().map(|variant| &variant.ident);
    quote! {
        impl From<#name> for #into {
            fn from(kind: #name) -> Self {
                match kind {
                    #(#name::#variants(data) => data.into()),*
                }
            }
        }
    }
}

fn only_field(variant: &Variant) -> Result<&Type> {
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => fields.unnamed.first().map(|it| &it.ty),
        _ => None,
    }
    .ok_or_else(|| Error::new_spanned(variant, "expected one field"))
}

fn kind_name(variant: &Variant, attributes: &KindAttributes) -> String {
    attributes.name.as_ref().map_or_else(|| snake_case(&variant.ident.to_string()), syn::LitStr::value)
}
