// Writes what was measured into the DOM; appended last.
const out = document.createElement("pre");
out.id = "result";
out.textContent = JSON.stringify(result);
(parent === window ? document : parent.document).body.replaceChildren(out);
