// The age of snapshots, as of the time at which the page is looked at.
for (const time of document.querySelectorAll("time[datetime]")) {
  const days = (Date.now() - Date.parse(time.dateTime)) / 86_400_000;
  if (days >= 2) {
    const note = document.createElement("small");
    note.append(`${Math.floor(days)} days old`);
    time.after(note);
  }
}
