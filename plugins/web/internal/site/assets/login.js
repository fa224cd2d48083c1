// A link of `harness open` has its token in the fragment, which is sent to nobody: it is put
// into the form here, and taken out of the address. Somebody who is at this page already and
// opens such a link stays on it, and only the fragment changes.
"use strict";

(() => {
  const enter = () => {
    const secret = location.hash.slice(1);
    if (!secret.startsWith("harness_login_")) return;
    history.replaceState(null, "", location.pathname + location.search);
    document.getElementById("f-token").value = secret;
    document.getElementById("log-in").requestSubmit();
  };
  addEventListener("hashchange", enter);
  enter();
})();
