{ Calls, nested procedures, objects, exceptions, strings and sorting, by Free Pascal. }
program Work;
{$mode objfpc}{$H+}
uses {$ifdef THREADS} cthreads, {$endif} SysUtils, Classes; { THREADS: with the C library }
type
  TShape = class
    constructor Create(ASize: Integer);
    function Area: Double; virtual;
  protected
    Size: Integer;
  end;
  TDisc = class(TShape)
    function Area: Double; override;
  end;
var
  Sum: Double;
  I: Integer;

constructor TShape.Create(ASize: Integer);
begin
  Size := ASize;
end;

function TShape.Area: Double;
begin
  Result := Size * Size;
end;

function TDisc.Area: Double;
begin
  Result := inherited Area * 3.14159;
end;

function Fib(N: Integer): Integer;
begin
  if N < 2 then Result := N else Result := Fib(N - 1) + Fib(N - 2);
end;

function Nested(N: Integer): Integer;
var
  Total: Integer;
  procedure Add(By: Integer);
    procedure Deeper;
    begin
      Total := Total + By;
    end;
  begin
    if By > 0 then begin Deeper; Add(By - 1); end;
  end;
begin
  Total := 0;
  Add(N);
  Result := Total;
end;

function Descending(List: TStringList; A, B: Integer): Integer;
begin
  Result := CompareStr(List[B], List[A]);
end;

function Sorted(N: Integer): Integer;
var
  List: TStringList;
  J: Integer;
begin
  List := TStringList.Create;
  try
    for J := 1 to 30 do List.Add(Format('%d of %g', [(J * 7919 + N) mod 101, N / 3]));
    List.CustomSort(@Descending);
    Result := Length(List.Text);
  finally
    List.Free;
  end;
end;

procedure Fail(N: Integer);
begin
  if N mod 3 = 0 then raise Exception.Create('three of ' + IntToStr(N));
end;

procedure Round(N: Integer);
var
  Shape: TShape;
begin
  if Odd(N) then Shape := TShape.Create(N) else Shape := TDisc.Create(N);
  Sum := Sum + Shape.Area + Fib(10) + Nested(12) + Sorted(N);
  Shape.Free;
  try
    Fail(N);
  except
    on E: Exception do Sum := Sum + Length(E.Message);
  end;
end;

begin
  Sum := 0;
  for I := 1 to 100000 do Round(I);
  WriteLn(Sum:0:3);
end.
