//! Italian.

use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "it",
    weekdays: [
        ["lunedì", "lun"],
        ["martedì", "mar"],
        ["mercoledì", "mer"],
        ["giovedì", "gio"],
        ["venerdì", "ven"],
        ["sabato", "sab"],
        ["domenica", "dom"],
    ],
    words: LocaleWords {
        and: "e,ed",
        determiners: "un,una,uno,il,lo,la,i,gli,le,l,mio,mia,tuo,tua,suo,sua,nostro,nostra,questo,questa",
        contractions: "da,dal,dallo,dalla,dai,dagli,dalle,dall|a,al,allo,alla,ai,agli,alle,all,ad|di,del,dello,della,dei,degli,delle,dell|\
                       in,nel,nello,nella,nei,negli,nelle,nell|su,sul,sullo,sulla,sui,sugli,sulle,sull",
        questions: "quale,quali,qual,che,chi,cosa,quando,dove,come,quanto,quanta,quanti,quante,sono,vuole,vuoi,desidera,desideri,puo,puoi,lei,tu,io,\
            noi,mi,ci,dica,dimmi,indichi,indica,scelga,scegli,favore,o",
        free_words: "domanda,domande,problema,problemi,messaggio,messaggi,richiesta,aiuto,aiutare,aiutarla,commento,commenti,descriva,descrivi,descrizione,dettagli,argomento,oggetto,nota,testo,successo,idea,idee,opinione,motivo,reclamo,osservazione,ricerca,desiderio,contenuto",
    },
    texts: None,
};
