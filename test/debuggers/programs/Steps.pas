{$mode objfpc}
{ Free Pascal: nested procedures, a virtual method, recursion; its own backtrace. }
program Steps;
uses BaseUnix;
type
  TStep = class
    procedure Down(depth: longint); virtual;
  end;

procedure WaitThere;
var
  letter: char;
begin
  dump_stack(stderr, get_frame);
  flush(stderr);
  writeln('ready');
  flush(output);
  fpRead(0, letter, 1);
end;

procedure TStep.Down(depth: longint);
  procedure Nested;
  begin
    if depth = 0 then WaitThere else Down(depth - 1);
  end;
begin
  Nested;
end;

begin
  TStep.Create.Down(5);
end.
