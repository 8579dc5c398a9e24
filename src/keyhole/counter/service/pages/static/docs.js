// The page of the API: sends a call as it was filled in, and shows the reply.
"use strict";
(() => {
  const MOST_SHOWN = 100000; // characters of a reply
  for (const button of document.querySelectorAll("form[data-call] button")) button.hidden = false;

  function requestOf(form) {
    const { method, media } = form.dataset;
    const [headers, query] = [{}, new URLSearchParams()];
    let path = form.dataset.path;
    for (const input of form.querySelectorAll("[data-in]")) {
      const [place, name, value] = [input.dataset.in, input.name, input.value.trim()];
      if (place === "path") path = path.replace(`{${name}}`, () => encodeURIComponent(value));
      else if (value && place === "query") query.set(name, value);
      else if (value) headers[name] = value;
    }
    const body = form.querySelector("[data-body]");
    if (body) headers["content-type"] = media;
    const sent = body && (body.type === "file" ? body.files[0] : body.value);
    const options = { method, headers, body: sent || undefined, credentials: "same-origin" };
    return [query.size ? `${path}?${query}` : path, options];
  }

  async function show(reply, form) {
    const [status, place] = [form.querySelector("[data-status]"), form.querySelector("[data-reply]")];
    const kind = (reply.headers.get("content-type") || "").split(";")[0];
    const readable = kind === "application/json" || kind === "text/plain";
    status.textContent = `${reply.status} ${reply.statusText}`;
    place.hidden = !readable;
    if (readable) {
      const text = await reply.text();
      const shown = kind === "application/json" ? JSON.stringify(JSON.parse(text), null, 2) : text;
      const more = shown.length - MOST_SHOWN;
      place.textContent = more > 0 ? `${shown.slice(0, MOST_SHOWN)}\n... and ${more} characters more` : shown;
      return;
    }
    const file = await reply.blob();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = form.dataset.path.split("/").pop();
    link.textContent = `Save the reply (${file.size} bytes)`;
    status.append(". ", link);
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-call]");
    if (!form) return;
    event.preventDefault();
    const button = form.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    try {
      const [path, options] = requestOf(form);
      await show(await fetch(path, options), form);
    } catch (error) {
      form.querySelector("[data-status]").textContent = `There is no reply: ${error.message}`;
    } finally {
      button.disabled = false;
    }
  });
})();
