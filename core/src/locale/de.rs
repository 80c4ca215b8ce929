//! German.

use super::EngineTexts;
use super::{CompoundWords, Language, LocaleWords, NumberWords};

pub(super) static LANGUAGE: Language = Language {
    code: "de",
    words: LocaleWords {
        and: "und",
        article: "ein,eine,einen,einem,einer",
        half: "halbe,halben,halber,halb",
        determiners: "ein,eine,einen,einem,einer,der,die,das,den,dem,des,mein,meine,meinen,meinem,meiner,unser,unsere,unseren,unserem,\
                      unserer,dein,deine,deinen,deinem,deiner,ihr,ihre,ihren,ihrem,ihrer,sein,seine,seinen,seinem,seiner,diese,diesen,\
                      diesem,dieser,dieses",
        contractions: "von,vom|zu,zum,zur|an,am,ans|in,im,ins|auf,aufs|bei,beim",
        months: "januar,janner|februar|marz,maerz|april|mai|juni|juli|august|september|oktober|november|dezember",
        weekdays: "montag|dienstag|mittwoch|donnerstag|freitag|samstag,sonnabend|sonntag",
        days: "heute|morgen|gestern|ubermorgen,uebermorgen",
        before_other_day: "letzten,letzter,letzte,vergangenen,guten",
        after_past_day: "",
        before_month: "",
        before_offset: "in",
        after_offset: "",
        units: "jahren,jahre,jahr|monaten,monate,monat|wochen,woche,w|tagen,tage,tag|stunden,stunde,std,h|\
                minuten,minute,min,m|sekunden,sekunde,sek,s",
        yes: "ja,jawohl,jep,jo,klar,gerne,gern,sicher,ok,okay,richtig,stimmt,genau,korrekt,naturlich,selbstverstandlich,einverstanden,wahr,\
              auf jeden fall,kein problem,warum nicht",
        no: "nein,ne,nee,niemals,nie,falsch,auf keinen fall,lieber nicht,sicher nicht,naturlich nicht,stimmt nicht",
        not: "nicht,kein,keine",
        unsure: "weiss nicht,weiss ich nicht,weiss es nicht,nicht sicher,keine ahnung,vielleicht",
        whole_text_only: ["1,j", "0,n"],
        numbers: Some(NumberWords {
            ones: "null|eins,ein,eine,einen,einem,einer|zwei,zwo|drei|vier|funf,fuenf|sechs|sieben|acht|neun|zehn|elf|zwolf,zwoelf|dreizehn|\
                   vierzehn|funfzehn,fuenfzehn|sechzehn|siebzehn|achtzehn|neunzehn",
            tens: "zwanzig|dreissig|vierzig|funfzig,fuenfzig|sechzig|siebzig|achtzig|neunzig",
            scales: &[("hundert", 2), ("tausend", 3), ("million,millionen", 6)],
            and_after_scale: "und",
            point: "komma",
            percent: "prozent",
            compound: Some(CompoundWords { and: "und", hundred: "hundert", thousand: "tausend" }),
            ..NumberWords::NONE
        }),
    },
    texts: Some(EngineTexts {
        confirm_value: "Ist {value} richtig?",
        yes: "Ja",
        no: "Nein",
        ask_for_value: "{name}?",
        choose_value: "Was meinen Sie: {values}?",
        choose_intent: "Meinen Sie „{first}“ oder „{second}“?",
        not_understood: "Das habe ich leider nicht verstanden.",
        error: "Etwas ist schiefgegangen. Bitte versuchen Sie es erneut.",
    }),
};
