//! German.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "de",
    weekdays: [
        ["Montag", "Mo"],
        ["Dienstag", "Di"],
        ["Mittwoch", "Mi"],
        ["Donnerstag", "Do"],
        ["Freitag", "Fr"],
        ["Samstag", "Sa"],
        ["Sonntag", "So"],
    ],
    words: LocaleWords {
        and: "und",
        determiners: "ein,eine,einen,einem,einer,der,die,das,den,dem,des,mein,meine,meinen,meinem,meiner,unser,unsere,unseren,unserem,\
                      unserer,dein,deine,deinen,deinem,deiner,ihr,ihre,ihren,ihrem,ihrer,sein,seine,seinen,seinem,seiner,diese,diesen,\
                      diesem,dieser,dieses",
        contractions: "von,vom|zu,zum,zur|an,am,ans|in,im,ins|auf,aufs|bei,beim",
        questions: "welche,welcher,welches,welchen,welchem,was,wer,wen,wem,wann,wo,wohin,woher,wie,viel,viele,ist,sind,soll,sollen,willst,wollen,\
            mochtest,mochten,kannst,konnen,du,sie,ihr,wir,ich,mir,uns,bitte,sage,sagen,nenne,nennen,gib,geben,wahle,wahlen,oder",
        free_words: "frage,fragen,problem,probleme,anliegen,nachricht,nachrichten,anfrage,hilfe,helfen,kommentar,feedback,ruckmeldung,beschreiben,beschreibung,einzelheiten,details,thema,betreff,notiz,text,passiert,geht,sorge,idee,ideen,meinung,bewertung,grund,beschwerde,anmerkung,bemerkung,suche,suchen,wunsch,wunsche,inhalt",
    },
    texts: Some(EngineTexts {
        confirm_value: "Ist {value} richtig?",
        yes: "Ja",
        no: "Nein",
        ask_for_value: "{name}?",
        choose_value: "Was meinen Sie: {values}?",
        choose_intent: "Meinen Sie „{first}“ oder „{second}“?",
        not_understood: "Das habe ich leider nicht verstanden.",
        cancelled: "In Ordnung, ich habe das abgebrochen.",
        nothing_to_cancel: "Im Moment gibt es nichts abzubrechen.",
        answer_needed: "Ohne eine Antwort geht es nicht weiter.",
        reason_for_question: "Das wird für „{name}“ gebraucht.",
        first_question: "Das ist die erste Frage.",
        cannot_change: "Das lässt sich nicht mehr ändern.",
        corrected: "In Ordnung: {value}.",
        started_over: "In Ordnung, noch einmal von vorne.",
        no_person: "Hier kann leider niemand übernehmen.",
        returned: "Zurück zu „{name}“.",
        can_help_with: "Ich kann dabei helfen: {names}.",
        not_understood_again: "Das habe ich immer noch nicht verstanden. Bitte sagen Sie es mit anderen Worten.",
        given_up: "Dabei kann ich leider nicht helfen.",
        left_alone: "In Ordnung, dann lasse ich das.",
        error: "Etwas ist schiefgegangen. Bitte versuchen Sie es erneut.",
    }),
};
